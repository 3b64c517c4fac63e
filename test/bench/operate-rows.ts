import postgres from "postgres";

/** An id as the service creates it for a given time: version 7, so that ids sort by time. */
const idAt = (time: string, n: string) => `(
  select (substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-7' || substr(m, 1, 3) || '-8' || substr(m, 4, 3) || '-' || substr(m, 7, 12))::uuid
  from (select lpad(to_hex((extract(epoch from ${time}) * 1000)::bigint), 12, '0') as h, md5(${n}::text) as m) parts)`;

/** Age of the oldest row, and number of issues that the rows are about. */
const days = 90;
const perIssue = 10;

/** Fills a migrated database: `count` executions, twice as many events, three steps each, spread over 90 days. */
export async function fillHistory(url: string, count: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const at = (n: string) => `now() - interval '${days} days' * (1 - ${n}::float8 / ${count * 2})`;
  try {
    // Triggers and foreign keys are off; the rows already have the result of the triggers.
    await sql`set session_replication_role = replica`;
    await sql`set synchronous_commit = off`;
    await sql.unsafe(`
      insert into webhook_events (id, source, slug, delivery_id, event_name, action, actor, subject, title, canonical_triggers, outcome, reason, headers, body, received_at)
      select ${idAt("t", "n")}, 'alpha', 'alpha', 'd' || n, 'issues', 'opened', 'mona', 'alpha:octo/app' || n % 100 || '#' || n / ${perIssue},
        'Checkout fails for guests of shop ' || n / ${perIssue},
        '{issue.created}', case when n % 2 = 0 then 'dispatched' else 'discarded' end,
        case when n % 2 = 1 then 'no source event mapping for alpha issues/opened ' || n % 7 end, '{}', convert_to('{"n":' || n || '}', 'UTF8'), t
      from (select n, ${at("n")} as t from generate_series(1, ${count * 2}) n) given`);
    await sql.unsafe(`
      insert into task_executions (id, event_id, task_id, agent_id, source, slug, canonical_trigger, subject, project, issue, content, state,
        error, attempts, prompt_tokens, completion_tokens, cost_usd, model, created_at, started_at, finished_at)
      select id, id, case n % 4 when 0 then 'first' else 'second' end, 'pm_default', source, slug, 'issue.created', subject, 'octo/app', '1', 'text',
        case when n % 50 = 0 then 'failed' when n % 997 = 0 then 'held' else 'succeeded' end,
        case when n % 50 = 0 then 'The LLM proxy answered ' || 500 + n % 4 end, 1, 900, 100, 0.01, 'gpt', received_at, received_at, received_at + interval '4 s'
      from (select e.*, row_number() over (order by id) as n from webhook_events e where outcome = 'dispatched') given`);
    await sql.unsafe(`
      insert into execution_steps (id, execution_id, seq, agent_id, kind, state, name, input, output, prompt_tokens, completion_tokens, duration_ms, created_at, started_at, ended_at)
      select ${idAt("e.created_at + interval '1 ms' * s.seq", "e.id || '.' || s.seq")}, e.id, s.seq, 'pm_default', s.kind, 'succeeded', s.name, '{}', '{}',
        case s.kind when 'model' then 900 else 0 end, case s.kind when 'model' then 100 else 0 end, 10, e.created_at, e.created_at, e.finished_at
      from task_executions e cross join (values (0, 'prompt', null), (1, 'model', 'gpt'), (2, 'tool', 'alpha.add_comment')) s (seq, kind, name)`);
    await sql`vacuum analyze`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}
