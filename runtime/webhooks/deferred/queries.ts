import { firstLockKeys } from "../../platform/database/advisory-lock.ts";
import type { Fragment, Queryable, Sql } from "../../platform/database/client.ts";

/** The deferred webhooks of one plugin and slug. They are parsed in the order of their arrival. */
export interface Partition {
  readonly plugin: string;
  readonly slug: string;
}
/** A webhook that its plugin has not parsed yet. */
export interface DeferredRow extends Partition {
  readonly id: string;
  readonly source: string;
  /** JSON of the headers. */
  readonly headers: string;
  readonly body: Uint8Array;
  /** Its `StoredContext`. */
  readonly context: string;
  readonly attempts: number;
  readonly last_error: string | null;
}
export type NewDeferred = Omit<DeferredRow, "attempts" | "last_error">;
/** The backlog of a partition. */
export interface PartitionBacklog extends Partition {
  readonly count: number;
  readonly oldest_at: string;
}

/** Maximum number of bytes that are claimed together; the first webhook may be larger. */
const maxBytes = 16_777_216;

export async function insertDeferred(sql: Queryable, { context, ...row }: NewDeferred): Promise<void> {
  await sql`insert into unread_webhooks ${sql({ ...row, way: context })}`;
}

/** Which of these partitions have a backlog. */
export const findWaiting = (sql: Queryable, partitions: readonly Partition[]): Promise<Partition[]> =>
  sql<Partition[]>`
    select asked.plugin, asked.slug from json_to_recordset(${JSON.stringify(partitions)}::text::json) as asked (plugin text, slug text)
    where exists (select 1 from unread_webhooks w where w.plugin = asked.plugin and w.slug = asked.slug)`;

/** Ids of the oldest rows, as many as one process can hold in memory, but at least one. */
const limitSize = (sql: Queryable, rows: Fragment) => sql`
  select id from (
    select id, sum(octet_length(body)) over (order by received_at, id) - octet_length(body) as before from (${rows}) f
  ) s where before < ${maxBytes}`;

/**
 * Claims the oldest webhooks of a partition for a minute; none while another replica holds some of them. Claims of one
 * partition run one after the other, so that each sees what the previous one holds.
 */
export const claimDeferred = (sql: Sql, { plugin, slug }: Partition, limit: number): Promise<DeferredRow[]> =>
  sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${firstLockKeys.deferredWebhooks}, hashtext(${`${plugin} ${slug}`}))`;
    return tx<DeferredRow[]>`
      with claimed as (
        update unread_webhooks set held_until = now() + interval '1 minute'
        where id in (
          ${limitSize(
            tx,
            tx`select id, received_at, body from unread_webhooks
              where plugin = ${plugin} and slug = ${slug} order by received_at, id limit ${limit}`,
          )}
        ) and not exists (select 1 from unread_webhooks h where h.plugin = ${plugin} and h.slug = ${slug} and h.held_until > now())
        returning id, plugin, slug, source, headers, body, way as context, attempts, last_error, received_at
      )
      select * from claimed order by received_at, id`;
  }) as Promise<DeferredRow[]>;

/** Claims for a minute the oldest webhooks that no replica holds and that have waited longer than `seconds`. */
export const claimExpired = (sql: Queryable, seconds: number, limit: number): Promise<DeferredRow[]> =>
  sql<DeferredRow[]>`
    update unread_webhooks set held_until = now() + interval '1 minute'
    where id in (
      ${limitSize(
        sql,
        sql`select id, received_at, body from unread_webhooks
          where received_at < now() - make_interval(secs => ${seconds}) and (held_until is null or held_until < now())
          order by received_at, id limit ${limit} for update skip locked`,
      )}
    )
    returning id, plugin, slug, source, headers, body, way as context, attempts, last_error`;

export async function deleteDeferred(sql: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql`delete from unread_webhooks where id = any(${ids as string[]}::uuid[])`;
}

/** Releases claimed webhooks. `failed`: the one during whose parsing the process ended. */
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

export const backlogs = (sql: Queryable): Promise<PartitionBacklog[]> =>
  sql<PartitionBacklog[]>`
    select plugin, slug, count(*) as count, min(received_at) as oldest_at from unread_webhooks group by plugin, slug order by plugin, slug`;
