import type { Queryable, Sql } from "../platform/database/client.ts";
import type { McpTool } from "./client/list-tools.ts";

export interface ServerRow {
  readonly id: number;
  readonly name: string;
  readonly provider: string;
  readonly url: string;
  readonly agent_id: string | null;
  readonly status: "pending" | "connected" | "failed";
  readonly tools: readonly McpTool[];
  /** The tools in their approved form; `null` until a discovery finds any, which counts as approval. */
  readonly approved: readonly McpTool[] | null;
  readonly last_error: string | null;
  readonly checked_at: string | null;
  readonly created_at: string;
}

export async function listServers(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: ServerRow[]; total: number }> {
  const items = await sql<ServerRow[]>`select * from mcp_servers order by id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from mcp_servers`;
  return { items, total: count.total };
}

export const allServers = (sql: Queryable): Promise<ServerRow[]> => sql<ServerRow[]>`select * from mcp_servers order by id`;

/** Returns `undefined` if the name, or the provider name derived from it, is taken. */
export async function insertServer(
  sql: Queryable,
  server: Pick<ServerRow, "name" | "provider" | "url" | "agent_id">,
): Promise<ServerRow | undefined> {
  const [row] = await sql<ServerRow[]>`insert into mcp_servers ${sql(server)} on conflict do nothing returning *`;
  return row;
}

export async function deleteServer(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`delete from mcp_servers where id = ${id}`).count > 0;
}

/** Claims the servers due for discovery, so only one replica queries each. */
export const claimDue = (sql: Sql, freshSeconds: number, retrySeconds: number): Promise<ServerRow[]> =>
  sql<ServerRow[]>`
    update mcp_servers set checked_at = now()
    where checked_at is null
      or checked_at < now() - make_interval(secs => case when status = 'connected' then ${freshSeconds}::float8 else ${retrySeconds}::float8 end)
    returning *`;

export async function findServer(sql: Queryable, id: number): Promise<ServerRow | undefined> {
  const [row] = await sql<ServerRow[]>`select * from mcp_servers where id = ${id}`;
  return row;
}

export async function approveTools(sql: Queryable, id: number, approved: readonly McpTool[]): Promise<ServerRow | undefined> {
  const [row] = await sql<ServerRow[]>`
    update mcp_servers set approved = ${JSON.stringify(approved)}::text::json where id = ${id} returning *`;
  return row;
}

/** Stores the result of a discovery. A failure keeps the previous tools. Returns `undefined` if the server was deleted. */
export async function saveAnswer(
  sql: Queryable,
  id: number,
  answer: { status: "connected" | "failed"; tools: readonly McpTool[] | null; last_error: string | null },
): Promise<ServerRow | undefined> {
  const tools = answer.tools && JSON.stringify(answer.tools);
  const first = answer.tools !== null && answer.tools.length > 0 ? tools : null;
  const [row] = await sql<ServerRow[]>`
    update mcp_servers set status = ${answer.status}, last_error = ${answer.last_error}, checked_at = now(),
      tools = coalesce(${tools}::text::json, tools), approved = coalesce(approved, ${first}::text::json)
    where id = ${id} returning *`;
  return row;
}
