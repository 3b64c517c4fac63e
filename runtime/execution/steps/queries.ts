import { insertWrites, recordWrites, type StoredWrite } from "../../own-writes/queries.ts";
import { asyncCommit } from "../../platform/database/async-commit.ts";
import type { Queryable } from "../../platform/database/client.ts";
import { packedStep, readStep, type StoredStep } from "../../transcripts/stored-steps.ts";
import { textsOf } from "../../transcripts/text-queries.ts";
import { patchTypes, savedChanges, stepChanges, stepNames, stepTypes, stepValues } from "./columns.ts";
import type { Change, StepRow } from "./rows.ts";

/** The result: a text, or the step that has it. */
const resultOf = (sql: Queryable) => sql`result = case when g.has_result then g.result else e.result end,
  packed_result = case when g.has_result then decode(g.packed_result, 'base64') else e.packed_result end,
  answer_step = case when g.has_result then g.answer_step else e.answer_step end`;

/** The sums for usage reports. */
const sums = (sql: Queryable) => sql`failed_tool_calls = coalesce(g.failed_tool_calls, e.failed_tool_calls),
  model = coalesce(g.model, e.model), cost_usd = coalesce(g.cost_usd, e.cost_usd),
  unpriced_tokens = coalesce(g.unpriced_tokens, e.unpriced_tokens)`;

const patchRow = ({ id, lease, patch }: Change) => ({
  ...patch,
  has_result: [patch.result, patch.packed_result, patch.answer_step].some((one) => one !== undefined),
  id,
  lease,
  has_agent: "agent_id" in patch,
  has_error: "error" in patch,
});

/**
 * Counts the tokens and the cost of a model's new answers for their issue, and replaces the reservations in budgets by the actual
 * usage. `counted` is always true. It refers to the query so that PostgreSQL runs it: a select in `with` whose result is not used
 * is skipped.
 */
function usageOf(sql: Queryable, changes: readonly Change[]) {
  const answers = changes.flatMap(({ id, steps, completed, scopes = [] }) =>
    [
      ...steps.filter(({ kind, state, is_answered }) => kind === "model" && (state === "succeeded" || is_answered)),
      ...completed.filter(({ is_answered }) => is_answered),
    ].map(({ prompt_tokens, completion_tokens, cost_usd }) => ({
      execution_id: id,
      tokens: prompt_tokens + completion_tokens,
      usd: cost_usd ?? 0,
      scopes,
    })),
  );
  if (answers.length === 0) return { use: sql``, counted: sql`` };
  const ids = answers.map(({ execution_id }) => execution_id);
  const use = sql`, reconciled as (
      delete from budget_reservations r where r.execution_id = any(${ids}::uuid[]) and r.execution_id in (select id from leased)
      returning r.execution_id, r.scopes
    ), spent as (
      select scope, sum(a.tokens)::bigint as tokens, sum(a.usd::numeric)::float8 as usd
      from json_to_recordset(${JSON.stringify(answers)}::text::json) as a (execution_id uuid, tokens bigint, usd float8, scopes text[])
      join leased h on h.id = a.execution_id left join reconciled s on s.execution_id = h.id
      cross join lateral unnest(array_append(coalesce(s.scopes, a.scopes), 'issue ' || h.subject)) scope where scope is not null group by scope
    ), used as (
      select add_usages(array_agg(scope), array_agg(0), array_agg(tokens), array_agg(usd)) from spent having count(*) > 0
    )`;
  return { use, counted: sql`where (select count(*) from used) >= 0` };
}

/** The columns with the reason why an execution does not run. A new state without a reason clears them. */
const hold = (sql: Queryable) => sql`held_reason = case when g.state is null then e.held_reason else g.held_reason end,
  held_until = case when g.state is null then e.held_until else g.held_until end,
  blocked_by = case when g.state is null then e.blocked_by else g.blocked_by end,
  released_at = case when g.is_paid then coalesce(e.released_at, now()) else e.released_at end`;

/**
 * Whether the change contains only the plan and its first request to the model. If a crash of the server loses them, the next
 * attempt plans again.
 */
const isBeginning = ({ steps, completed, patch }: Change): boolean =>
  completed.length === 0 &&
  Object.keys(patch).every((member) => member === "agent_id") &&
  steps.every(({ kind, state }) => kind === "prompt" || (kind === "model" && state === "started"));

/**
 * Writes the changes of many executions in one statement. Returns the executions whose lease is still valid; nothing is written
 * for the others. If only steps are added, the row of the execution is not updated. The text of a successful execution is removed
 * from its row, because its prompt contains the text. Like all statements, this one locks rows in the order of their ids.
 */
export async function writeChanges(sql: Queryable, changes: readonly Change[]): Promise<boolean[]> {
  const flat = (pick: "steps" | "completed") =>
    JSON.stringify(changes.flatMap((one) => one[pick].map((step) => ({ ...packedStep(step), execution_id: one.id }))));
  const patches = changes.map(patchRow);
  // The ids are also an array, because the planner overestimates a JSON set and would read the whole table. Rows are locked
  // before their state is checked; otherwise it would use the index of running executions, which is full of dead rows.
  const [ids, spent] = [changes.map(({ id }) => id), usageOf(sql, changes)];
  const rows = await sql<{ id: string }[]>`
    with given as (select * from json_to_recordset(${JSON.stringify(patches)}::text::json) as g (${sql.unsafe(patchTypes)})),
    leased as (
      select e.id, e.subject from (select id, subject, lease, state from task_executions where id = any(${ids}::uuid[]) order by id offset 0 for update) e
      join given g on g.id = e.id and g.lease = e.lease where e.state = 'running' ${changes.every(isBeginning) ? sql`and ${asyncCommit(sql)}` : sql``}
    ), added as (
      insert into execution_steps (${sql.unsafe(stepNames)}, in_flight_until, expires_at)
      select ${sql.unsafe(stepValues)},
        now() + make_interval(secs => s.in_flight_ms / 1000), now() + make_interval(secs => s.expires_ms / 1000)
      from json_to_recordset(${flat("steps")}::text::json) as s (${sql.unsafe(stepTypes)})
      where s.execution_id in (select id from leased)
    ), completed as (
      update execution_steps t
      set ${sql.unsafe(stepChanges)},
        in_flight_until = now() + make_interval(secs => s.in_flight_ms / 1000),
        expires_at = coalesce(t.expires_at, now() + make_interval(secs => s.expires_ms / 1000))
      from json_to_recordset(${flat("completed")}::text::json) as s (${sql.unsafe(stepTypes)})
      where t.id = s.id and s.execution_id in (select id from leased)
      returning t.id, s.check_ms
    ), checks as (
      insert into write_checks (step_id, due_at) select id, now() + make_interval(secs => check_ms / 1000) from completed
      where check_ms is not null on conflict (step_id) do update set due_at = excluded.due_at, attempts = 0, looks = 0
    ), patched as (
      update task_executions e
      set state = coalesce(g.state, e.state),
        agent_id = case when g.has_agent then g.agent_id else e.agent_id end,
        content = case when g.state = 'succeeded' then '' else e.content end, packed_content = case when g.state = 'succeeded' then null else e.packed_content end, ${resultOf(sql)}, result_url = coalesce(g.result_url, e.result_url), has_sign = e.has_sign or coalesce(g.state in ('waiting', 'failed'), false),
        error = case when g.has_error then g.error else e.error end,
        waiting_for = case when g.state is null then e.waiting_for else g.waiting_for end, failures = coalesce(g.failures, e.failures),
        run_after = case when g.state = 'queued' then date_trunc('milliseconds', now()) + make_interval(secs => coalesce(g.delay_ms, 0) / 1000) else e.run_after end,
        prompt_tokens = coalesce(g.prompt_tokens, e.prompt_tokens), completion_tokens = coalesce(g.completion_tokens, e.completion_tokens),
        tool_calls = coalesce(g.tool_calls, e.tool_calls), ${sums(sql)},
        finished_at = case when g.state in ('succeeded', 'failed') then now() else e.finished_at end,
        ${hold(sql)}, offered_to = g.offered_to, offered_until = now() + make_interval(secs => g.offered_seconds),
        stream_id = case when g.state is null then e.stream_id end, lease = case when g.state is null then e.lease end,
        lease_expires_at = case when g.state is null then e.lease_expires_at end
      from given g where e.id = g.id and e.id = any(${ids}::uuid[]) and e.id in (select id from leased)
        and (num_nonnulls(g.state, nullif(g.has_result, false), g.result_url, g.failures, g.prompt_tokens, g.completion_tokens, g.tool_calls) > 0
          or g.has_error or (g.has_agent and g.agent_id is distinct from e.agent_id))
    ) ${recordWrites(sql, writesOf(changes.flatMap((one) => [...one.steps, ...one.completed])))} ${spent.use}
    select id from leased ${spent.counted}`;
  const leased = new Set(rows.map((row) => row.id));
  return changes.map(({ id }) => leased.has(id));
}

/** The writes of steps, each with the comment that it created. The list may contain a step more than once. */
function writesOf(steps: readonly StepRow[]): StoredWrite[] {
  return [...new Set(steps)].flatMap(({ wrote, output }) => {
    const id = (output as { id?: unknown } | null)?.id;
    return wrote ? [{ ...wrote, ref: typeof id === "string" || typeof id === "number" ? String(id) : null }] : [];
  });
}

export async function loadSteps(sql: Queryable, executionId: string): Promise<StepRow[]> {
  const rows = await sql<StoredStep<StepRow>[]>`
    select id, seq, kind, state, name, key, ${textsOf(sql, "execution_steps")}, error, agent_id,
      prompt_tokens, completion_tokens, cost_usd, duration_ms, started_at, ended_at, decided_at is not null as decided,
      case when in_flight_until is not null then greatest(0, extract(epoch from in_flight_until - now()) * 1000) end::float8 as in_flight_ms
    from execution_steps where execution_id = ${executionId} order by seq`;
  return rows.map((row) => readStep(row, rows));
}

/** Stores steps that belong to no execution, or changes of them. */
export async function saveSteps(sql: Queryable, chatId: string | null, steps: readonly StepRow[]): Promise<void> {
  const writes = writesOf(steps);
  const wrote = writes.length > 0 ? sql`with wrote as (${insertWrites(sql, writes)})` : sql``;
  await sql`
    ${wrote} insert into execution_steps (chat_id, ${sql.unsafe(stepNames)})
    select ${chatId}::uuid, ${sql.unsafe(stepValues)} from json_to_recordset(${JSON.stringify(steps)}::text::json) as s (${sql.unsafe(stepTypes)})
    on conflict (id) do update set ${sql.unsafe(savedChanges)}`;
}
