import type { Queryable } from "../database/client.ts";

/**
 * Takes the next start of a key. Returns 0, or the milliseconds until it is free. Uses the database's clock, because the
 * replicas' clocks may differ.
 */
export async function takeStart(sql: Queryable, key: string, interval: number): Promise<number> {
  const [row] = await sql<{ wait: number }[]>`
    with taken as (
      insert into paces as throttle (key, next_at)
      values (${key}, clock_timestamp() + ${interval}::double precision * interval '1 millisecond')
      on conflict (key) do update set next_at = excluded.next_at where throttle.next_at <= clock_timestamp()
      returning 0::double precision as wait)
    select wait from taken
    union all
    select (extract(epoch from next_at - clock_timestamp()) * 1000)::double precision as wait
    from paces where key = ${key} and not exists (select from taken)`;
  // Another replica took the start concurrently, and this statement still sees the old row.
  return row ? (row.wait <= 0 && row.wait !== 0 ? 1 : Math.ceil(row.wait)) : 1;
}

export const holdStarts = (sql: Queryable, key: string, ms: number) =>
  sql`
    insert into paces as throttle (key, next_at) values (${key}, clock_timestamp() + ${ms}::double precision * interval '1 millisecond')
    on conflict (key) do update set next_at = greatest(throttle.next_at, excluded.next_at)`;

/** Deletes unused keys, which remain after credentials are rotated. */
export const deleteOldThrottles = (sql: Queryable) => sql`delete from paces where next_at < now() - interval '1 day'`;
