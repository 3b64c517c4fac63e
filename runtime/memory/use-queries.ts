import type { uses } from "@signalbox/schema/memory";
import type { Output } from "@signalbox/schema/operation";
import { asyncCommit } from "../platform/database/async-commit.ts";
import type { Queryable } from "../platform/database/client.ts";

type Uses = Output<typeof uses>;

/** Records which memories the prompt of an execution contains. */
export async function saveUses(sql: Queryable, executionId: string, keys: readonly string[]): Promise<void> {
  await sql`update task_executions set memories = ${[...new Set(keys)]}::text[] where id = ${executionId} and ${asyncCommit(sql)}`;
}

/** The agents that stored memories over the gateway, by the ids of the memories. */
export async function authorsOf(sql: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ memory_id: string; agent_id: string }[]>`
    select memory_id, agent_id from memory_authors where memory_id = any(${[...ids]}::uuid[])`;
  return new Map(rows.map(({ memory_id, agent_id }) => [memory_id, agent_id]));
}

/** The executions whose prompt contained a memory, the newest first. */
export async function listUses(sql: Queryable, key: string, page: { limit: number; offset: number }): Promise<Uses> {
  const where = sql`where memories is not null and memories @> array[${key}]::text[]`;
  const items = await sql<Uses["items"]>`
    select id as execution_id, task_id, agent_id, subject, state, created_at from task_executions ${where}
    order by id desc limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from task_executions ${where}`;
  return { items, total: count.total };
}
