import type { Queryable } from "../database/client.ts";

/** A webhook that its plugin has not read yet. */
export interface UnreadRow {
  readonly id: string;
  readonly plugin: string;
  readonly slug: string;
  /** JSON of the headers. */
  readonly headers: string;
  readonly body: Uint8Array;
  /** JSON of the `Way`. */
  readonly way: string;
  readonly attempts: number;
}

export async function insertUnread(sql: Queryable, row: Omit<UnreadRow, "attempts">): Promise<void> {
  await sql`insert into unread_webhooks ${sql(row)}`;
}

/** The oldest of a plugin that nobody holds; they are the caller's for a minute. */
export async function claimUnread(sql: Queryable, plugin: string, limit: number): Promise<UnreadRow[]> {
  const rows = await sql<UnreadRow[]>`
    update unread_webhooks set held_until = now() + interval '1 minute'
    where id in (
      select id from unread_webhooks where plugin = ${plugin} and (held_until is null or held_until < now())
      order by received_at, id limit ${limit} for update skip locked
    )
    returning id, plugin, slug, headers, body, way, attempts`;
  // Ids are made in the order of time.
  return [...rows].sort((a, b) => (a.id < b.id ? -1 : 1));
}

export async function deleteUnread(sql: Queryable, id: string): Promise<void> {
  await sql`delete from unread_webhooks where id = ${id}`;
}

/** Gives them back. `failed`: the one over which the process ended. */
export async function releaseUnread(sql: Queryable, ids: readonly string[], failed: string | null, error: string): Promise<void> {
  await sql`
    update unread_webhooks set held_until = null,
      attempts = attempts + case when id = ${failed}::uuid then 1 else 0 end,
      last_error = case when id = ${failed}::uuid then ${error} else last_error end
    where id = any(${ids as string[]}::uuid[])`;
}

export async function waitingPlugins(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ plugin: string }[]>`select distinct plugin from unread_webhooks`;
  return rows.map(({ plugin }) => plugin);
}
