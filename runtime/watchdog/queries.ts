import type { Sql } from "../database/client.ts";

export type WatchdogLevel = "info" | "warn" | "error";

export async function insertEntry(
  sql: Sql,
  level: WatchdogLevel,
  message: string,
  context: Record<string, unknown>,
): Promise<void> {
  await sql`insert into watchdog_logs (level, message, context) values (${level}, ${message}, ${JSON.stringify(context)}::text::jsonb)`;
}
