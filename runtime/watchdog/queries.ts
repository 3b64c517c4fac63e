import type { Input, Output } from "@signalbox/schema/operation";
import type { list } from "@signalbox/schema/watchdog";
import type { Queryable, Sql } from "../platform/database/client.ts";
import { type History, type HistoryPage, readHistory } from "../platform/database/history-page.ts";

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

/** Stores how often the report of an entry was repeated. */
export async function addToEntry(sql: Sql, id: number, count: number): Promise<void> {
  await sql`update watchdog_logs set context = jsonb_set(context, '{count}', to_jsonb(${count}::int)) where id = ${id}`;
}

type WatchdogEntry = Output<typeof list>["items"][number];

/** `subjects`: returns only entries that name these subjects or their executions; absent: all. */
export function listEntries(
  sql: Queryable,
  { subjects, ...filter }: Omit<Input<typeof list>, "subject"> & { readonly subjects?: readonly string[] | undefined },
): Promise<HistoryPage<WatchdogEntry>> {
  const level = filter.level === undefined ? sql`` : sql`and level = ${filter.level}`;
  // The text is searched for literally, not as a pattern.
  const pattern = `%${(filter.search ?? "").replace(/[\\%_]/g, "\\$&")}%`;
  const search = filter.search ? sql`and message ilike ${pattern}` : sql``;
  const aboutSubjects = subjects
    ? sql`and (context ->> 'subject' = any(${subjects as string[]}::text[]) or context ->> 'execution_id' in
        (select e.id::text from task_executions e where e.subject = any(${subjects as string[]}::text[])))`
    : sql``;
  const history: History = {
    table: sql`watchdog_logs`,
    key: sql`id`,
    keyType: "bigint",
    time: sql`created_at`,
    columns: sql`id, level, message, context, created_at`,
    where: sql`${level} ${search} ${aboutSubjects}`,
    text: sql`concat_ws(' ', message, context ->> 'reason', context ->> 'error')`,
  };
  return readHistory<WatchdogEntry>(sql, history, filter);
}
