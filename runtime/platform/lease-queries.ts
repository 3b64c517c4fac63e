import type { Fragment, Queryable } from "./database/client.ts";

/** Rows of a table that represent work. Each is due at a time, and one replica at a time has its lease. */
export interface LeasedRows<Key extends string = string> {
  readonly table: string;
  readonly key: Key;
  /** Column with the time at which a row becomes due; null if it never does. */
  readonly dueColumn: string;
  /** SQL condition of the rows that represent work. Default: all. */
  readonly condition?: string;
}

/** A row that this replica has leased. */
export type Leased<Key extends string> = { readonly lease: string } & Readonly<Record<Key, string | number>>;

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

/** Renews the lease of a row. `false` if another replica has its lease, or the row was deleted. */
export async function renewLease<Key extends string>(
  sql: Queryable,
  { table, key }: LeasedRows<Key>,
  item: Leased<Key>,
  seconds: number,
): Promise<boolean> {
  const result = await sql`
    update ${sql(table)} set lease_expires_at = now() + make_interval(secs => ${seconds})
    where ${sql(key as string)} = ${item[key]} and lease = ${item.lease}`;
  return result.count > 0;
}

/** Releases a row, which remains due. */
export const releaseRow = <Key extends string>(
  sql: Queryable,
  { table, key }: LeasedRows<Key>,
  item: Leased<Key>,
): Promise<unknown> =>
  sql`
    update ${sql(table)} set lease = null, lease_expires_at = null where ${sql(key as string)} = ${item[key]} and lease = ${item.lease}`;

/** Releases a row, to be claimed again after `ms`; `null`: never. */
export async function postponeRow<Key extends string>(
  sql: Queryable,
  { table, key, dueColumn }: LeasedRows<Key>,
  item: Leased<Key>,
  ms: number | null,
): Promise<void> {
  await sql`
    update ${sql(table)} set ${sql(dueColumn)} = now() + make_interval(secs => ${ms === null ? null : ms / 1000}::float8),
      lease = null, lease_expires_at = null
    where ${sql(key as string)} = ${item[key]} and lease = ${item.lease}`;
}

/** Work that one replica at a time does for all. */
type SoleWork = "maintenance" | "retention";

/** Takes or renews the lease of this work; `false` while another replica has it. */
export async function holdLease(sql: Queryable, work: SoleWork, holder: string, seconds: number): Promise<boolean> {
  const rows = await sql`
    insert into memory_leases (name, holder, expires_at) values (${work}, ${holder}, now() + make_interval(secs => ${seconds}))
    on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at
    where memory_leases.holder = ${holder} or memory_leases.expires_at <= now() returning name`;
  return rows.length > 0;
}

export const dropLease = async (sql: Queryable, work: SoleWork, holder: string): Promise<void> =>
  void (await sql`delete from memory_leases where name = ${work} and holder = ${holder}`);
