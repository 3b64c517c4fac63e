import type { Output } from "@signalbox/schema/operation";
import type { execute } from "@signalbox/schema/tools";
import type { Queryable } from "../platform/database/client.ts";

export type ToolExecution = Output<typeof execute>;

export interface ToolExecutionFilter {
  readonly limit: number;
  readonly offset: number;
  readonly agent_id?: string | undefined;
  readonly execution_id?: string | undefined;
  readonly status?: string | undefined;
}

/** A call costs what the model's round before it cost; a direct one has none. */
const columns = (sql: Queryable) => sql`
  t.id, t.execution_id, t.agent_id, t.name as tool, t.input as parameters, t.output as result, t.state as status, t.error,
  coalesce(m.prompt_tokens, 0) as prompt_tokens, coalesce(m.completion_tokens, 0) as completion_tokens, t.duration_ms, t.created_at`;

const round = (sql: Queryable) => sql`
  left join lateral (
    select m.prompt_tokens, m.completion_tokens from execution_steps m
    where m.kind = 'model' and m.seq < t.seq and (m.execution_id = t.execution_id or m.chat_id = t.chat_id)
    order by m.seq desc limit 1
  ) m on true`;

export async function listToolExecutions(
  sql: Queryable,
  filter: ToolExecutionFilter,
): Promise<{ items: ToolExecution[]; total: number }> {
  const where = sql`where t.kind = 'tool'
    ${filter.agent_id === undefined ? sql`` : sql`and t.agent_id = ${filter.agent_id}`}
    ${filter.execution_id === undefined ? sql`` : sql`and t.execution_id = ${filter.execution_id}`}
    ${filter.status === undefined ? sql`` : sql`and t.state = ${filter.status}`}`;
  const items = await sql<ToolExecution[]>`
    select ${columns(sql)} from (
      select * from execution_steps t ${where} order by t.created_at desc, t.id desc limit ${filter.limit} offset ${filter.offset}
    ) t ${round(sql)} order by t.created_at desc, t.id desc`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from execution_steps t ${where}`;
  return { items, total: count.total };
}

export async function findToolExecution(sql: Queryable, id: string): Promise<ToolExecution | undefined> {
  const [row] = await sql<ToolExecution[]>`select ${columns(sql)} from execution_steps t ${round(sql)} where t.id = ${id}`;
  return row;
}
