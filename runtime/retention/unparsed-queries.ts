import type { Queryable } from "../platform/database/client.ts";
import { shortText } from "../platform/json.ts";

/** A payload that no plugin has parsed: a deferred webhook, or an event that its plugin could not read. */
export interface UnparsedPayload {
  readonly id: string;
  readonly source: string;
  readonly body: Uint8Array;
}

/** Maximum number of bytes and of payloads that are read together; the first payload may be larger. */
const maxBytes = 1_048_576;
const maxPayloads = 500;

/** Ids of the payloads of these sources (`null`: of all), in groups that are small enough to be read together. */
export async function listUnparsed(sql: Queryable, sources: readonly string[] | null): Promise<string[][]> {
  const ofSources = sql`(${sources === null} or source = any(${(sources ?? []) as string[]}::text[]))`;
  const rows = await sql<{ id: string; bytes: number }[]>`
    select id, octet_length(body) as bytes from unread_webhooks where ${ofSources}
    union all
    select id, octet_length(body) from webhook_events
    where event_name = '' and outcome = 'discarded' and subject is null and body_removed_at is null and ${ofSources}`;
  const groups: string[][] = [];
  let total = Number.POSITIVE_INFINITY;
  for (const { id, bytes } of rows) {
    total += bytes;
    if (total > maxBytes || groups.at(-1)?.length === maxPayloads) {
      groups.push([]);
      total = bytes;
    }
    groups.at(-1)?.push(id);
  }
  return groups;
}

export const readUnparsed = (sql: Queryable, ids: readonly string[]): Promise<UnparsedPayload[]> =>
  sql<UnparsedPayload[]>`
    select id, source, body from unread_webhooks where id = any(${ids as string[]}::uuid[])
    union all
    select id, source, body from webhook_events where id = any(${ids as string[]}::uuid[])`;

/** How many of these are still deferred webhooks. */
export async function countDeferred(sql: Queryable, ids: readonly string[]): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*) as count from unread_webhooks where id = any(${ids as string[]}::uuid[])`;
  return row.count;
}

/** What is known of a deferred webhook without its plugin. */
interface DeferredContext {
  readonly messageId?: string | null;
  readonly replayOf?: string;
  readonly own?: boolean;
  readonly scopes?: readonly string[];
}

/**
 * What identifies its repeated delivery: the delivery id that its event would get from its message, and the names of its body. Read
 * here, because the id may contain characters that PostgreSQL does not accept in JSON.
 */
function identityOf(way: string): { delivery_id: string | null; scopes: readonly string[] } {
  const { messageId = null, replayOf, own, scopes = [] } = JSON.parse(way) as DeferredContext;
  return { delivery_id: messageId === null || replayOf || own ? null : shortText(messageId), scopes };
}

/**
 * Stores deferred webhooks as discarded events without payload, under the ids that their senders received. A replica that is parsing
 * one of them finds that event when it stores its own. Keeps what identifies a repeated delivery and is known without the plugin:
 * the id of its message, and if repeated bodies count as duplicates, the digest of its body.
 */
export async function discardDeferred(sql: Queryable, ids: readonly string[], reason: string): Promise<void> {
  const rows = await sql<{ id: string; way: string }[]>`
    select id, way from unread_webhooks where id = any(${ids as string[]}::uuid[])`;
  const identities = rows.map(({ id, way }) => ({ id, ...identityOf(way) }));
  await sql`
    with identities as (
      select * from json_to_recordset(${JSON.stringify(identities)}::text::json) as i (id uuid, delivery_id text, scopes json)
    ), erased as (
      delete from unread_webhooks w using identities i where w.id = i.id
      returning w.id, w.source, w.slug, w.body, w.received_at, i.delivery_id, i.scopes
    ), bodies as (
      insert into webhook_bodies (slug, digest, event_id, received_at)
      select distinct on (1, 2) scope, sha256(body), id, received_at
      from erased, json_array_elements_text(scopes) scope order by 1, 2, id on conflict do nothing
    )
    insert into webhook_events (id, source, slug, delivery_id, event_name, outcome, reason, headers, body, received_at)
    select id, source, slug, delivery_id, '', 'discarded', ${reason}, '{}', '', received_at from erased on conflict do nothing`;
}
