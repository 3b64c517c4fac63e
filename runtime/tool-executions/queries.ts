import type { Input, Output } from "@signalbox/schema/operation";
import type { execute, listExecutions } from "@signalbox/schema/tools";
import type { Queryable } from "../platform/database/client.ts";
import { type History, type HistoryPage, readHistory } from "../platform/database/history-page.ts";

export type ToolExecution = Output<typeof execute>;

type ToolExecutionFilter = Omit<Input<typeof listExecutions>, "subject" | "fields"> & {
  /** Stored subjects; absent: all. */
  readonly subjects?: readonly string[] | undefined;
  /** Includes the results. */
  readonly whole?: boolean;
};

/** The cost of a call is that of the model's round before it; a direct call has none. */
const members = (sql: Queryable) => sql`
  t.id, t.execution_id, t.agent_id, t.name as tool, t.input as parameters, t.state as status, t.error,
  coalesce(m.prompt_tokens, 0) as prompt_tokens, coalesce(m.completion_tokens, 0) as completion_tokens, t.duration_ms, t.created_at`;
const columns = (sql: Queryable) => sql`${members(sql)}, t.output as result`;

const round = (sql: Queryable) => sql`
  left join lateral (
    select m.prompt_tokens, m.completion_tokens from execution_steps m
    where m.kind = 'model' and m.seq < t.seq and (m.execution_id = t.execution_id or m.chat_id = t.chat_id)
    order by m.seq desc limit 1
  ) m on true`;

export function listToolExecutions(
  sql: Queryable,
  { subjects, whole, ...filter }: ToolExecutionFilter,
): Promise<HistoryPage<ToolExecution>> {
  const history: History = {
    table: sql`execution_steps t`,
    key: sql`t.id`,
    keyType: "uuid",
    time: sql`t.created_at`,
    columns: whole ? columns(sql) : members(sql),
    joined: round(sql),
    where: sql`and t.kind = 'tool'
      ${filter.agent_id === undefined ? sql`` : sql`and t.agent_id = ${filter.agent_id}`}
      ${filter.execution_id === undefined ? sql`` : sql`and t.execution_id = ${filter.execution_id}`}
      ${filter.status === undefined ? sql`` : sql`and t.state = ${filter.status}`}
      ${subjects ? sql`and t.execution_id in (select e.id from task_executions e where e.subject = any(${subjects as string[]}::text[]))` : sql``}`,
    text: sql`t.error`,
    ...(whole && { bytes: sql`coalesce(octet_length(t.output::text), 0)` }),
  };
  return readHistory<ToolExecution>(sql, history, filter);
}

export async function findToolExecution(sql: Queryable, id: string): Promise<ToolExecution | undefined> {
  const [row] = await sql<ToolExecution[]>`select ${columns(sql)} from execution_steps t ${round(sql)} where t.id = ${id}`;
  return row;
}
