import type { Fragment, Queryable } from "./database/client.ts";

/** Rows of a table that represent work. Each is due at a time, and one replica at a time has its lease. */
export interface LeasedRows {
  readonly table: string;
  readonly key: string;
  /** Column with the time at which a row becomes due; null if it never does. */
  readonly dueColumn: string;
  /** SQL condition of the rows that represent work. Default: all. */
  readonly condition?: string;
}

const isWork = (sql: Queryable, { dueColumn, condition = "true" }: LeasedRows): Fragment =>
  sql`${sql.unsafe(condition)} and ${sql(dueColumn)} is not null`;

/** Part of a claim: the row that has been due for the longest time and that no live replica has leased, locked, as `due`. */
export const dueRow = (sql: Queryable, rows: LeasedRows): Fragment => sql`due as (
    select ${sql(rows.key)} from ${sql(rows.table)}
    where ${isWork(sql, rows)} and ${sql(rows.dueColumn)} <= now() and (lease_expires_at is null or lease_expires_at < now())
    order by ${sql(rows.dueColumn)} limit 1 for update skip locked
  )`;

/** Part of a claim: the assignments of a lease. */
export const leaseFor = (sql: Queryable, lease: string, seconds: number): Fragment =>
  sql`lease = ${lease}, lease_expires_at = now() + make_interval(secs => ${seconds})`;

/** Milliseconds until a row can be claimed; `null` if none will become due. */
export async function untilDue(sql: Queryable, rows: LeasedRows): Promise<number | null> {
  const [row] = await sql<{ wait: number | null }[]>`
    select (extract(epoch from min(greatest(${sql(rows.dueColumn)}, lease_expires_at)) - now()) * 1000)::float8 as wait
    from ${sql(rows.table)} where ${isWork(sql, rows)}`;
  return row?.wait ?? null;
}

/** Renews the lease of the row with the key `id`. `false` if another replica has its lease, or the row was deleted. */
export async function renewLease(
  sql: Queryable,
  { table, key }: LeasedRows,
  { id, lease }: { readonly id: string | number; readonly lease: string },
  seconds: number,
): Promise<boolean> {
  const result = await sql`
    update ${sql(table)} set lease_expires_at = now() + make_interval(secs => ${seconds})
    where ${sql(key)} = ${id} and lease = ${lease}`;
  return result.count > 0;
}
