import type { Queryable } from "../platform/database/client.ts";
import type { Arrival } from "./arrival.ts";

/** Two hooks that report the same change deliver it within this number of minutes. */
const copyMinutes = 5;

/**
 * An event with the digest of the content that all hooks deliver alike. `leader`: the first event of the statement with this
 * digest.
 */
interface HookDelivery {
  readonly id: string;
  readonly leader: string;
  readonly source: string;
  readonly slug: string;
  readonly delivery_id: string | null;
  readonly digest: string;
  readonly hook_id: string;
  /** Whether another hook has already delivered the leader. */
  readonly is_copy: boolean;
}

function deliveriesOf(arrivals: readonly Arrival[]): HookDelivery[] {
  const leaders = new Map<string, Arrival>();
  return arrivals.flatMap((arrival) => {
    const { event, hookDigest } = arrival;
    if (!hookDigest || event.hook_id === null) return [];
    const key = `${event.source} ${hookDigest}`;
    const leader = leaders.get(key) ?? arrival;
    leaders.set(key, leader);
    const { id, source, slug, delivery_id, hook_id } = event;
    const is_copy = leader.event.hook_id !== hook_id;
    return [{ id, leader: leader.event.id, source, slug, delivery_id, digest: hookDigest, hook_id, is_copy }];
  });
}

/**
 * Parts of a statement that skip events which another hook delivered within five minutes. The unique key makes concurrent copies
 * wait for each other.
 */
export function withoutHookCopies(sql: Queryable, arrivals: readonly Arrival[]) {
  const deliveries = deliveriesOf(arrivals);
  if (deliveries.length === 0) return { noted: sql``, isNew: sql`true` };
  const deliveryRows = sql`json_to_recordset(${JSON.stringify(deliveries)}::text::json)
    as d (id uuid, leader uuid, source text, slug text, delivery_id text, digest text, hook_id text, is_copy boolean)`;
  const noted = sql`
    hooked as (
      insert into hook_deliveries as k (source, digest, hook_id, event_id)
      select d.source, decode(d.digest, 'hex'), d.hook_id, d.id from ${deliveryRows}
      where d.id = d.leader
        and not exists (select 1 from webhook_events e where e.slug = d.slug and e.delivery_id = d.delivery_id)
      order by d.source, d.digest
      on conflict (source, digest) do update set hook_id = excluded.hook_id, event_id = excluded.event_id, received_at = now()
        where k.hook_id = excluded.hook_id or k.received_at < now() - make_interval(mins => ${copyMinutes})
      returning event_id
    ),`;
  const isNew = sql`(not exists (select 1 from ${deliveryRows} where d.id = x.id)
    or exists (select 1 from ${deliveryRows} where d.id = x.id and not d.is_copy and d.leader in (select event_id from hooked)))`;
  return { noted, isNew };
}
