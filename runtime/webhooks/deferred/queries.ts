import type { Fragment, Queryable, Sql } from "../../platform/database/client.ts";

/** Webhooks of one plugin and slug: what comes later waits behind what came before. */
export interface Partition {
  readonly plugin: string;
  readonly slug: string;
}
/** A webhook that its plugin has not read yet. */
export interface DeferredRow extends Partition {
  readonly id: string;
  readonly source: string;
  /** JSON of the headers. */
  readonly headers: string;
  readonly body: Uint8Array;
  /** JSON of the `Way`. */
  readonly way: string;
  readonly attempts: number;
  readonly last_error: string | null;
}
export type NewDeferred = Omit<DeferredRow, "attempts" | "last_error">;
/** What waits in a lane. */
export interface WaitingPartition extends Partition {
  readonly count: number;
  readonly oldest_at: string;
}

const lock = 7_160_416;
/** Bytes of those that are claimed together; the first may have more. */
const mostBytes = 16_777_216;

export async function insertDeferred(sql: Queryable, row: NewDeferred): Promise<void> {
  await sql`insert into unread_webhooks ${sql(row)}`;
}

/** Which of these lanes have webhooks that wait. */
export const findWaiting = (sql: Queryable, lanes: readonly Partition[]): Promise<Partition[]> =>
  sql<Partition[]>`
    select asked.plugin, asked.slug from json_to_recordset(${JSON.stringify(lanes)}::text::json) as asked (plugin text, slug text)
    where exists (select 1 from unread_webhooks w where w.plugin = asked.plugin and w.slug = asked.slug)`;

/** Ids of the oldest of some rows, as many as the process that reads them can hold; one at the least. */
const fitting = (sql: Queryable, rows: Fragment) => sql`
  select id from (
    select id, sum(octet_length(body)) over (order by received_at, id) - octet_length(body) as before from (${rows}) f
  ) s where before < ${mostBytes}`;

/**
 * The oldest of a lane, which are the caller's for a minute; none while another replica holds some of it. Claims of one lane
 * come one after the other, so that each sees what the one before holds.
 */
export const claimDeferred = (sql: Sql, { plugin, slug }: Partition, limit: number): Promise<DeferredRow[]> =>
  sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${lock}, hashtext(${`${plugin} ${slug}`}))`;
    return tx<DeferredRow[]>`
      with claimed as (
        update unread_webhooks set held_until = now() + interval '1 minute'
        where id in (
          ${fitting(
            tx,
            tx`select id, received_at, body from unread_webhooks
              where plugin = ${plugin} and slug = ${slug} order by received_at, id limit ${limit}`,
          )}
        ) and not exists (select 1 from unread_webhooks h where h.plugin = ${plugin} and h.slug = ${slug} and h.held_until > now())
        returning id, plugin, slug, source, headers, body, way, attempts, last_error, received_at
      )
      select * from claimed order by received_at, id`;
  }) as Promise<DeferredRow[]>;

/** The oldest that nobody holds and that have waited longer than this; they are the caller's for a minute. */
export const claimExpired = (sql: Queryable, seconds: number, limit: number): Promise<DeferredRow[]> =>
  sql<DeferredRow[]>`
    update unread_webhooks set held_until = now() + interval '1 minute'
    where id in (
      ${fitting(
        sql,
        sql`select id, received_at, body from unread_webhooks
          where received_at < now() - make_interval(secs => ${seconds}) and (held_until is null or held_until < now())
          order by received_at, id limit ${limit} for update skip locked`,
      )}
    )
    returning id, plugin, slug, source, headers, body, way, attempts, last_error`;

export async function deleteDeferred(sql: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql`delete from unread_webhooks where id = any(${ids as string[]}::uuid[])`;
}

/** Gives them back. `failed`: the one over which the process ended. */
export async function releaseDeferred(
  sql: Queryable,
  ids: readonly string[],
  failed: string | null,
  error: string | null,
): Promise<void> {
  await sql`
    update unread_webhooks set held_until = null, last_error = coalesce(${error}, last_error),
      attempts = attempts + case when id = ${failed}::uuid then 1 else 0 end
    where id = any(${ids as string[]}::uuid[])`;
}

export const waitingPartitions = (sql: Queryable): Promise<WaitingPartition[]> =>
  sql<WaitingPartition[]>`
    select plugin, slug, count(*) as count, min(received_at) as oldest_at from unread_webhooks group by plugin, slug order by plugin, slug`;
