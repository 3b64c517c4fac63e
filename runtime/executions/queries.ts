import type { cancel, get, list } from "@signalbox/schema/executions";
import type { Input, Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";
import { type History, type HistoryPage, readHistory } from "../platform/database/history-page.ts";

export type Execution = Output<typeof cancel>;
export type Step = Output<typeof get>["transcript"][number];

export type ExecutionFilter = Omit<Input<typeof list>, "subject" | "fields"> & {
  /** Stored subjects; absent: all. */
  readonly subjects?: readonly string[] | undefined;
  /** Also the members that lists leave out. */
  readonly whole?: boolean;
};

const members = (sql: Queryable) => sql`
  id, task_id, event_id, agent_id, project_id, source, canonical_trigger, subject, state, held_reason, held_until, waiting_for, attempts, result_url, error,
  prompt_tokens, completion_tokens, tool_calls, model, cost_usd, unpriced_tokens, created_at, started_at, finished_at, transcript_removed_at,
  (extract(epoch from finished_at - started_at) * 1000)::bigint as duration_ms`;
const columns = (sql: Queryable) => sql`${members(sql)}, result`;

export function listExecutions(sql: Queryable, { subjects, whole, ...filter }: ExecutionFilter): Promise<HistoryPage<Execution>> {
  const equal = (column: string, value: unknown) => (value === undefined ? sql`` : sql`and ${sql(column)} = ${value as string}`);
  const where = sql`${equal("state", filter.state)} ${equal("task_id", filter.task_id)} ${equal("agent_id", filter.agent_id)}
    ${equal("project_id", filter.project_id)} ${equal("event_id", filter.event_id)}
    ${subjects ? sql`and subject = any(${subjects as string[]}::text[])` : sql``}`;
  const history: History = {
    table: sql`task_executions`,
    key: sql`id`,
    keyType: "uuid",
    time: sql`created_at`,
    columns: whole ? columns(sql) : members(sql),
    where,
    text: sql`coalesce(error, held_reason)`,
  };
  return readHistory<Execution>(sql, history, filter);
}

export async function findExecution(sql: Queryable, id: string): Promise<Execution | undefined> {
  const [execution] = await sql<Execution[]>`select ${columns(sql)} from task_executions where id = ${id}`;
  return execution;
}

export const listSteps = (sql: Queryable, executionId: string): Promise<Step[]> =>
  sql<Step[]>`
    select seq, kind, state, name, input, output, error, prompt_tokens, completion_tokens, cost_usd, duration_ms, created_at
    from execution_steps where execution_id = ${executionId} order by seq`;

/** `undefined` where it is neither queued, running nor waiting. */
export async function cancelExecution(sql: Queryable, id: string): Promise<Execution | undefined> {
  const [execution] = await sql<Execution[]>`
    update task_executions set state = 'cancelled', lease = null, lease_expires_at = null, finished_at = now(), error = null, waiting_for = null
    where id = ${id} and state in ('queued', 'running', 'waiting') returning ${columns(sql)}`;
  return execution;
}

/** The latest failed execution of a task. */
export async function findFailedOfTask(sql: Queryable, taskId: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from task_executions where task_id = ${taskId} and state = 'failed' and transcript_removed_at is null order by id desc limit 1`;
  return row?.id;
}

export async function hasExecutionsOfTask(sql: Queryable, taskId: string): Promise<boolean> {
  const rows = await sql`select 1 from task_executions where task_id = ${taskId} limit 1`;
  return rows.length > 0;
}

/** Queues a failed execution again; it goes on behind the last step of its transcript. `undefined` where it has not failed. */
export async function requeueFailed(sql: Queryable, id: string): Promise<Execution | undefined> {
  const [execution] = await sql<Execution[]>`
    with reopened as (
      -- Its day is summed again.
      update usage_sums set open = open + 1
      where day = (select (created_at at time zone 'UTC')::date from task_executions where id = ${id})
    )
    update task_executions set state = 'queued', failures = 0, deaths = 0, death_leases = '{}', run_after = now(), error = null, finished_at = null
    where id = ${id} and state = 'failed' and transcript_removed_at is null returning ${columns(sql)}`;
  return execution;
}
