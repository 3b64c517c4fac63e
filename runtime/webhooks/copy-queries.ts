import type { Queryable } from "../platform/database/client.ts";
import type { Arrival } from "./arrival.ts";

/** One row for each name under which the body of an event counts as received. */
const digestsOf = (arrivals: readonly Arrival[]) =>
  arrivals.flatMap(({ event: { id, slug, delivery_id }, copy }) =>
    copy ? copy.scopes.map((scope) => ({ id, slug, delivery_id, scope, digest: copy.digest })) : [],
  );

/**
 * Parts of a statement that skip events whose body arrived before within these hours, under any of its names, which the column
 * `slug` contains. The unique key makes concurrent copies wait for each other, so that at most one is new. A copy adds no further
 * names, except if it is concurrent.
 */
export function withoutBodyCopies(sql: Queryable, arrivals: readonly Arrival[], hours: number) {
  const digests = digestsOf(arrivals);
  if (digests.length === 0) return { noted: sql``, isNew: sql`true` };
  const json = JSON.stringify(digests);
  const digestRows = sql`json_to_recordset(${json}::text::json) as d (id uuid, slug text, delivery_id text, scope text, digest text)`;
  const hasMore = new Set(digests.map(({ id }) => id)).size < digests.length;
  const isFirst = hasMore
    ? sql`not exists (
        select 1 from json_to_recordset(${json}::text::json) as s (id uuid, scope text, digest text)
        join webhook_bodies b on b.slug = s.scope and b.digest = decode(s.digest, 'hex')
        where s.id = d.id and b.received_at >= now() - make_interval(hours => ${hours}))`
    : sql`true`;
  const noted = sql`
    expired as (
      delete from webhook_bodies w where (w.slug, w.digest) in (
        select o.slug, o.digest from webhook_bodies o where o.received_at < now() - make_interval(hours => ${hours})
          and not exists (select 1 from ${digestRows} where d.scope = o.slug and decode(d.digest, 'hex') = o.digest)
        order by o.received_at limit 100 for update skip locked)
    ), first as (
      insert into webhook_bodies (slug, digest, event_id)
      select distinct on (d.scope, d.digest) d.scope, decode(d.digest, 'hex'), d.id from ${digestRows}
      where (d.delivery_id is null
        or not exists (select 1 from webhook_events e where e.slug = d.slug and e.delivery_id = d.delivery_id)) and ${isFirst}
      order by d.scope, d.digest, d.id
      on conflict (slug, digest) do update set event_id = excluded.event_id, received_at = now()
        where webhook_bodies.received_at < now() - make_interval(hours => ${hours})
      returning event_id, slug
    ),`;
  const isNew = sql`not exists (select 1 from ${digestRows} where d.id = x.id
    and not exists (select 1 from first f where f.event_id = d.id and f.slug = d.scope))`;
  return { noted, isNew };
}
