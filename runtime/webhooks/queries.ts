import type { EventAuthor } from "@signalbox/sdk";
import type { Queryable } from "../platform/database/client.ts";

export interface NewExecution {
  readonly id: string;
  readonly task_id: string;
  readonly canonical_trigger: string;
}

/** An event as it is stored, with the executions that it fires. */
export interface NewEvent {
  readonly id: string;
  readonly source: string;
  readonly slug: string;
  readonly delivery_id: string | null;
  readonly change_key: string | null;
  readonly event_name: string | null;
  readonly action: string | null;
  readonly actor: string | null;
  readonly subject: string | null;
  readonly canonical_triggers: readonly string[];
  readonly outcome: "dispatched" | "discarded";
  readonly reason: string | null;
  readonly replay_of: string | null;
  readonly polled: boolean;
  readonly author: EventAuthor | null;
  readonly occurred_at: string | null;
  readonly hook_id: string | null;
  readonly snapshot: boolean;
  readonly private: boolean;
  readonly comment: string | null;
  readonly thread: string | null;
  readonly incomplete: boolean;
  readonly traceparent: string | null;
  /** JSON of the headers that `parse` may need again. */
  readonly headers: string;
  /** JSON, and so UTF-8 without NUL characters. */
  readonly body: Uint8Array;
}
export interface Arrival {
  readonly event: NewEvent;
  readonly project: string | null;
  readonly issue: string | null;
  readonly content: string;
  /** SHA-256 of the body, in hexadecimal, if a copy of it is a duplicate. */
  readonly digest?: string | null;
  readonly executions: readonly NewExecution[];
}

/**
 * Stores events and their executions in one statement, so that either both are there or neither. Returns the ids of the
 * events that are new; an event with a known delivery is left out, and its executions with it. So is, by a trigger of the
 * table, one of two that tell of the same change where a poll told of it.
 */
export async function insertArrivals(sql: Queryable, arrivals: readonly Arrival[], replayHours = 0): Promise<Set<string>> {
  // By slug, because the trigger locks by slug, and by delivery, whose index a writer waits at for another with the same one:
  // writers that lock in one order never wait for each other in a ring. Rows of JSON are read, and inserted, in their order.
  const place = ({ event }: Arrival) => `${event.slug} ${event.delivery_id ?? ""}`;
  const ordered = arrivals.map((one) => ({ one, at: place(one) })).sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  // As text in one piece: half of what bytes are on the wire, and a statement that is the same for any number of events.
  const bodies = ordered.map(({ one: { event } }) =>
    Buffer.from(event.body.buffer, event.body.byteOffset, event.body.byteLength).toString(),
  );
  let end = 1;
  const events = ordered.map(({ one: { event } }, n) => {
    const body_at = end;
    const body_bytes = Buffer.byteLength(bodies[n] as string);
    end += body_bytes;
    return { ...event, body: undefined, body_at, body_bytes };
  });
  const executions = arrivals.flatMap(({ event, project, issue, content, executions: fired }) =>
    fired.map((one) => ({
      ...one,
      event_id: event.id,
      source: event.source,
      slug: event.slug,
      subject: event.subject,
      project,
      issue,
      content,
    })),
  );
  const digests = ordered.flatMap(({ one: { event, digest } }) =>
    !digest ? [] : [{ id: event.id, slug: event.slug, delivery_id: event.delivery_id, digest }],
  );
  const { copies, isNew } = digests.length > 0 ? withoutCopies(sql, digests, replayHours) : { copies: sql``, isNew: sql`` };
  const rows = await sql<{ id: string }[]>`
    with ${copies} stored as (
      insert into webhook_events (id, source, slug, delivery_id, change_key, event_name, action, actor, subject, canonical_triggers,
        outcome, reason, replay_of, polled, author, occurred_at, hook_id, snapshot, private, comment, thread, incomplete, traceparent, headers, body)
      select id, source, slug, delivery_id, change_key, event_name, action, actor, subject, canonical_triggers,
        outcome, reason, replay_of, polled, author, occurred_at, hook_id, snapshot, private, comment, thread, incomplete, traceparent, headers, substring((select convert_to(${bodies.join("")}, 'UTF8')) from body_at for body_bytes)
      from json_to_recordset(${JSON.stringify(events)}::text::json) as x (id uuid, source text, slug text, delivery_id text,
        change_key text, event_name text, action text, actor text, subject text, canonical_triggers text[], outcome text, reason text,
        replay_of uuid, polled boolean, author jsonb, occurred_at timestamptz, hook_id text, snapshot boolean, private boolean,
        comment text, thread text, incomplete boolean, traceparent text, headers text, body_at int, body_bytes int)
      ${isNew}
      on conflict do nothing returning id
    ), fired as (
      insert into task_executions (id, event_id, task_id, canonical_trigger, source, slug, subject, project, issue, content, project_id)
      select x.*, (select p.id from projects p where p.source = x.source and p.source_project_id = x.project)
      from json_to_recordset(${JSON.stringify(executions)}::text::json) as x (id uuid, event_id uuid, task_id text, canonical_trigger text,
        source text, slug text, subject text, project text, issue text, content text)
      where x.event_id in (select id from stored)
    )
    select id from stored`;
  return new Set(rows.map((row) => row.id));
}

/**
 * Leaves out events whose body came before within these hours. The unique key makes copies that come at the same time wait
 * for each other, so that one of them is new.
 */
function withoutCopies(
  sql: Queryable,
  digests: readonly { id: string; slug: string; delivery_id: string | null; digest: string }[],
  hours: number,
) {
  const given = sql`json_to_recordset(${JSON.stringify(digests)}::text::json) as d (id uuid, slug text, delivery_id text, digest text)`;
  const copies = sql`
    expired as (
      delete from webhook_bodies w where (w.slug, w.digest) in (
        select o.slug, o.digest from webhook_bodies o where o.received_at < now() - make_interval(hours => ${hours})
          and not exists (select 1 from ${given} where d.slug = o.slug and decode(d.digest, 'hex') = o.digest)
        order by o.received_at limit 100 for update skip locked)
    ), first as (
      insert into webhook_bodies (slug, digest, event_id)
      select distinct on (d.slug, d.digest) d.slug, decode(d.digest, 'hex'), d.id from ${given}
      where d.delivery_id is null
        or not exists (select 1 from webhook_events e where e.slug = d.slug and e.delivery_id = d.delivery_id)
      order by d.slug, d.digest
      on conflict (slug, digest) do update set event_id = excluded.event_id, received_at = now()
        where webhook_bodies.received_at < now() - make_interval(hours => ${hours})
      returning event_id
    ),`;
  const isNew = sql`where not exists (select 1 from ${given} where d.id = x.id) or x.id in (select event_id from first)`;
  return { copies, isNew };
}

/** The event that was stored before with the same delivery or body, or that reports the same change. */
export async function findEarlier(sql: Queryable, event: NewEvent, digest: string | null = null): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from webhook_events
    where id = ${event.id}
    union all
    select id from webhook_events
    where slug = ${event.slug} and delivery_id = ${event.delivery_id}
    union all
    select id from webhook_events
    where slug = ${event.slug} and change_key = ${event.change_key} and (polled or ${event.polled})
    union all
    select event_id from webhook_bodies where slug = ${event.slug} and digest = decode(${digest}, 'hex')
    limit 1`;
  return row?.id;
}
