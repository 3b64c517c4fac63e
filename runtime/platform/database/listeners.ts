import type { Queryable } from "./client.ts";

/** How many connections listen to a channel of this database, as far as the account may see: one for each replica. */
export async function countListeners(sql: Queryable, channel: string): Promise<number> {
  const [row] = await sql<[{ n: number }]>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and query ilike 'listen ' || ${`"${channel}"`}::text`;
  return row.n;
}
