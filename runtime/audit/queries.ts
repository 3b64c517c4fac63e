import type { listEntries, listTrails, usageStats } from "@signalbox/schema/audit";
import type { Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";

type AuditEntry = Output<typeof listEntries>["items"][number];
type AuditTrail = Output<typeof listTrails>["items"][number];
type UsageStats = Output<typeof usageStats>;

/**
 * The entries are read from executions, their steps and their history. The id of an entry consists of values that never change,
 * so a failure keeps its id when a restart moves it to the history.
 *
 * `first`: the number of entries that are needed of each kind, so that the history of an agent is not read completely. Each kind
 * is sorted like the result, because entries that were stored together have the same time.
 */
const entries = (sql: Queryable, where: { agent: string; execution?: readonly string[] }, first: number | null) => {
  const of = (id: string) => (where.execution ? sql`and ${sql(id)} = any(${where.execution as string[]})` : sql``);
  const newestFirst = first === null ? sql`` : sql`order by created_at desc, rank desc, seq desc, id limit ${first}`;
  const ofAgent = sql`agent_id = ${where.agent}`;
  const noTokens = sql`0 as prompt_tokens, 0 as completion_tokens`;
  return sql`
    (select id || '.started' as id, agent_id, id as execution_id, 'execution.started' as event,
      task_id || coalesce(' (hop ' || hop || ' in a row' || coalesce(', answers a write of execution ' || answers, '') || ')', '') as detail,
      ${noTokens}, null::bigint as duration_ms, started_at as created_at, 0 as rank, 0 as seq
    from task_executions where ${ofAgent} and started_at is not null ${of("id")} ${newestFirst})
    union all
    (select id || '.' || state || '.' || attempts as id, agent_id, id as execution_id, 'execution.' || state, case state when 'failed' then error when 'cancelled' then coalesce(reason, task_id) else task_id end,
      ${noTokens}, (extract(epoch from finished_at - started_at) * 1000)::bigint, finished_at as created_at, 2 as rank, attempts as seq
    from task_executions where ${ofAgent} and finished_at is not null and state in ('succeeded', 'failed', 'cancelled') ${of("id")} ${newestFirst})
    union all
    (select execution_id || substr(event, 10) || '.' || attempts || case when event in ('execution.held', 'execution.released') then '.' || n else '' end as id, agent_id, execution_id, event, detail,
      ${noTokens}, duration_ms, created_at, case when event = 'execution.restarted' then 3 else 2 end as rank, attempts as seq
    from execution_history where ${ofAgent} ${of("execution_id")} ${newestFirst})
    union all
    (select id::text as id, agent_id, execution_id,
      case kind when 'model' then 'model.called' when 'tool' then 'tool.called' else 'answer.posted' end,
      concat_ws(': ', name, case when kind <> 'model' then state end, error),
      prompt_tokens, completion_tokens, duration_ms, created_at, 1 as rank, seq
    from execution_steps where ${ofAgent} and kind <> 'prompt' and (kind <> 'model' or state <> 'started') ${of("execution_id")} ${newestFirst})`;
};
const members = (sql: Queryable) =>
  sql`id, agent_id, execution_id, event, detail, prompt_tokens, completion_tokens, duration_ms, created_at`;

export async function listAuditEntries(
  sql: Queryable,
  { id, limit, offset }: { id: string; limit: number; offset: number },
): Promise<{ items: AuditEntry[]; total: number }> {
  const items = await sql<AuditEntry[]>`
    select ${members(sql)} from (${entries(sql, { agent: id }, limit + offset)}) e
    order by created_at desc, rank desc, seq desc, id limit ${limit} offset ${offset}`;
  const [count] = await sql<[{ total: number }]>`
    select (select count(started_at) + count(*) filter (where finished_at is not null and state in ('succeeded', 'failed', 'cancelled'))
        from task_executions where agent_id = ${id})
      + (select count(*) from execution_history where agent_id = ${id})
      + (select count(*) from execution_steps where agent_id = ${id} and kind <> 'prompt' and (kind <> 'model' or state <> 'started')) as total`;
  return { items, total: count.total };
}

/** The agent's executions, oldest first, each with its entries, oldest first. */
export async function listAuditTrails(
  sql: Queryable,
  { id, limit, offset }: { id: string; limit: number; offset: number },
): Promise<{ items: AuditTrail[]; total: number }> {
  const executions = await sql<Omit<AuditTrail, "entries">[]>`
    select id as execution_id, task_id, state from task_executions where agent_id = ${id}
    order by id limit ${limit} offset ${offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from task_executions where agent_id = ${id}`;
  const ids = executions.map((one) => one.execution_id);
  const rows = await sql<AuditEntry[]>`
    select ${members(sql)} from (${entries(sql, { agent: id, execution: ids }, null)}) e order by created_at, rank, seq, id`;
  const byExecution = Map.groupBy(rows, (row) => row.execution_id);
  const items = executions.map((one) => ({ ...one, entries: byExecution.get(one.execution_id) ?? [] }));
  return { items, total: count.total };
}

interface AgentSums extends Pick<UsageStats, "avg_duration_ms"> {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly prompt: number;
  readonly completion: number;
  readonly tool_calls: number;
}

/**
 * Steps are removed long before their execution, which keeps their sums; a running one has no sums yet. Of chats and direct calls, the
 * sums of their day remain.
 */
export async function sumAgent(sql: Queryable, id: string): Promise<UsageStats> {
  const [row] = await sql<[AgentSums]>`
    select count(*) as total, count(*) filter (where state = 'succeeded') as succeeded, count(*) filter (where state = 'failed') as failed,
      round((avg(extract(epoch from finished_at - started_at) * 1000) filter (where state in ('succeeded', 'failed')))::numeric, 1)::float8
        as avg_duration_ms,
      coalesce(sum(coalesce(now.prompt, e.prompt_tokens)), 0)::bigint as prompt,
      coalesce(sum(coalesce(now.completion, e.completion_tokens)), 0)::bigint as completion,
      coalesce(sum(coalesce(now.tool_calls, e.tool_calls)), 0)::bigint as tool_calls
    from task_executions e left join lateral (
      select sum(s.prompt_tokens) as prompt, sum(s.completion_tokens) as completion, count(*) filter (where s.kind = 'tool') as tool_calls
      from execution_steps s where s.execution_id = e.id
    ) now on e.state = 'running'
    where e.agent_id = ${id}`;
  const [others] = await sql<[{ prompt: number; completion: number; tool_calls: number }]>`
    select coalesce(sum(prompt_tokens), 0)::bigint as prompt, coalesce(sum(completion_tokens), 0)::bigint as completion,
      coalesce(sum(tool_calls), 0)::bigint as tool_calls
    from (
      select prompt_tokens, completion_tokens, tool_calls from usage_days where agent_id = ${id} and runs = 0
      union all
      select prompt_tokens, completion_tokens, (kind = 'tool')::int from execution_steps
      where agent_id = ${id} and kind <> 'prompt' and execution_id is null
        and not exists (select 1 from usage_sums where day = (created_at at time zone 'UTC')::date)
    ) outside_of_executions`;
  const { total, succeeded, failed, avg_duration_ms } = row;
  const [prompt, completion] = [row.prompt + others.prompt, row.completion + others.completion];
  return {
    agent_id: id,
    tasks: { total, succeeded, failed },
    tokens: { prompt, completion, total: prompt + completion },
    tool_calls: row.tool_calls + others.tool_calls,
    avg_duration_ms,
  };
}
