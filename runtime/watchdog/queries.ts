import type { Output } from "@signalbox/schema/operation";
import type { list } from "@signalbox/schema/watchdog";
import type { Queryable, Sql } from "../platform/database/client.ts";

export type WatchdogLevel = "info" | "warn" | "error";

export async function insertEntry(
  sql: Sql,
  level: WatchdogLevel,
  message: string,
  context: Record<string, unknown>,
): Promise<number> {
  const [row] = await sql<[{ id: number }]>`
    insert into watchdog_logs (level, message, context) values (${level}, ${message}, ${JSON.stringify(context)}::text::jsonb)
    returning id`;
  return row.id;
}

/** Stores how often an entry's report was repeated. */
export async function addToEntry(sql: Sql, id: number, count: number): Promise<void> {
  await sql`update watchdog_logs set context = jsonb_set(context, '{count}', to_jsonb(${count}::int)) where id = ${id}`;
}

export type WatchdogEntry = Output<typeof list>["items"][number];

export async function listEntries(
  sql: Queryable,
  filter: { limit: number; offset: number; level?: WatchdogLevel | undefined; search?: string | undefined },
): Promise<{ items: WatchdogEntry[]; total: number }> {
  const level = filter.level === undefined ? sql`` : sql`and level = ${filter.level}`;
  // The text is searched for literally, not as a pattern.
  const pattern = `%${(filter.search ?? "").replace(/[\\%_]/g, "\\$&")}%`;
  const search = filter.search ? sql`and message ilike ${pattern}` : sql``;
  const where = sql`where true ${level} ${search}`;
  const items = await sql<WatchdogEntry[]>`
    select id, level, message, context, created_at from watchdog_logs ${where} order by id desc limit ${filter.limit} offset ${filter.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from watchdog_logs ${where}`;
  return { items, total: count.total };
}
