import type { Queryable } from "./client.ts";

/**
 * Number of connections that listen to a channel of this database, one for each replica. Counts only sessions that the role may
 * see.
 */
export async function countListeners(sql: Queryable, channel: string): Promise<number> {
  const [row] = await sql<[{ n: number }]>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and query ilike 'listen ' || ${`"${channel}"`}::text`;
  return row.n;
}

/** Sends messages in one transaction, in their order. */
export const notifyListeners = (sql: Queryable, channel: string, messages: readonly string[]): PromiseLike<unknown> =>
  sql`select pg_notify(${channel}, message) from unnest(${messages as string[]}::text[]) as message`;
