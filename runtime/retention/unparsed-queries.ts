import type { Queryable } from "../platform/database/client.ts";

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

/**
 * Stores deferred webhooks as discarded events without payload, under the ids that their senders received. A replica that is parsing
 * one of them finds that event when it stores its own. Keeps what identifies a repeated delivery and is known without the plugin:
 * the id of its message, and if repeated bodies count as duplicates, the digest of its body.
 */
export const discardDeferred = (sql: Queryable, ids: readonly string[], reason: string): Promise<unknown> =>
  sql`
    with erased as (
      delete from unread_webhooks where id = any(${ids as string[]}::uuid[])
      returning id, source, slug, body, way::jsonb as context, received_at
    ), bodies as (
      insert into webhook_bodies (slug, digest, event_id, received_at)
      select distinct on (1, 2) scope, sha256(body), id, received_at
      from erased, jsonb_array_elements_text(context->'scopes') scope order by 1, 2, id on conflict do nothing
    )
    insert into webhook_events (id, source, slug, delivery_id, event_name, outcome, reason, headers, body, received_at)
    select id, source, slug, case when context->'replayOf' is null and context->'own' is null then context->>'messageId' end,
      '', 'discarded', ${reason}, '{}', '', received_at from erased on conflict do nothing`;
