import { findOwn } from "../own-writes/queries.ts";
import { firstLockKeys } from "../platform/database/advisory-lock.ts";
import type { Fragment, Queryable } from "../platform/database/client.ts";
import { nextTurnIfLarge } from "../platform/next-turn.ts";
import { projectSpelling } from "../subject-names/project-spelling.ts";
import type { Arrival, NewEvent, StoredEvent } from "./arrival.ts";
import { eventRows, executionRows, inOrderOfLocks } from "./arrival-rows.ts";
import { withoutBodyCopies } from "./copy-queries.ts";
import { endingOf } from "./ending-queries.ts";
import { withoutHookCopies } from "./hook-queries.ts";
import { countHops, type LoopLimits } from "./loop-queries.ts";

export interface ArrivalLimits {
  /** Number of hours during which the same body counts as a duplicate. */
  readonly replayHours: number;
  readonly loops: LoopLimits;
}
const noLimits: ArrivalLimits = { replayHours: 0, loops: { windowSeconds: 0, cooldownSeconds: 0 } };

/**
 * Stores events and their executions in one statement: both or neither. Returns the new events, by id. An event with a known
 * delivery is skipped, together with its executions. A trigger of the table also skips one of two events that report the same
 * change, if a poll reported it.
 *
 * The steps of the statement: note the bodies and contents that arrived, which finds the copies; find our own changes; store the
 * events that are not copies (`stored`); count the hops of their subjects (`hopped`); store the executions of the dispatched ones
 * (`started`); cancel what closes end.
 */
export async function insertArrivals(
  sql: Queryable,
  arrivals: readonly Arrival[],
  { replayHours, loops }: ArrivalLimits = noLimits,
): Promise<Map<string, StoredEvent>> {
  const ordered = inOrderOfLocks(arrivals);
  const bodyCopies = withoutBodyCopies(sql, ordered, replayHours);
  const hookCopies = withoutHookCopies(sql, ordered);
  const own = ownChanges(sql, arrivals);
  const ending = endingOf(sql, arrivals);
  const isNew = sql`${bodyCopies.isNew} and ${hookCopies.isNew}`;
  const starting = startingOf(sql, arrivals, loops);
  const inserted = insertEvents(sql, ordered, { isNew, ownReason: own.reason });
  // The bodies are written for the socket next.
  await nextTurnIfLarge(Math.max(...arrivals.map(({ event }) => event.body.byteLength)));
  const rows = await sql<StoredEvent[]>`
    with ${bodyCopies.noted} ${hookCopies.noted} ${own.found} stored as (
      ${inserted}
    ) ${starting.use} ${ending.use}
    select id, outcome, reason, ${ending.cancelled} as cancelled, ${starting.held} as held from stored`;
  return new Map(rows.map((row) => [row.id, row]));
}

/** The part `own`, which finds the events that report our own changes, and the reason that it gives for the event `x`. */
function ownChanges(sql: Queryable, arrivals: readonly Arrival[]) {
  const suspects = arrivals.flatMap(({ event, suspect }) =>
    suspect ? [{ ...suspect, id: event.id, subject: event.subject }] : [],
  );
  if (suspects.length === 0) return { found: sql``, reason: sql`null::text` };
  return { found: findOwn(sql, suspects), reason: sql`(select own.reason from own where own.id = x.id limit 1)` };
}

/**
 * Stores the events `x` for which `isNew` holds. One with an `ownReason` is discarded for it.
 *
 * `is_dispatched` is a computed column, for which the planner has no statistics. With those of `outcome`, it would overestimate
 * the cost of the general plan on a busy table, and so plan each statement again with its values, which are megabytes of bodies.
 */
function insertEvents(
  sql: Queryable,
  ordered: readonly Arrival[],
  { isNew, ownReason }: { readonly isNew: Fragment; readonly ownReason: Fragment },
) {
  const { bodies, events } = eventRows(ordered);
  return sql`
      insert into webhook_events (id, source, slug, delivery_id, change_key, event_name, action, actor, subject, title, canonical_triggers,
        outcome, reason, replay_of, polled, author, occurred_at, hook_id, snapshot, private, comment, thread, incomplete, traceparent, headers, body)
      select id, source, slug, delivery_id, change_key, event_name, action, actor, subject, title, canonical_triggers,
        case when own_reason is null then outcome else 'discarded' end, coalesce(own_reason, reason),
        replay_of, polled, author, occurred_at, hook_id, snapshot, private, comment, thread, incomplete, traceparent, headers,
        coalesce(decode(packed, 'base64'), substring((select convert_to(${bodies}, 'UTF8')) from body_at for body_bytes))
      from json_to_recordset(${JSON.stringify(events)}::text::json) as x (id uuid, source text, slug text, delivery_id text,
        change_key text, event_name text, action text, actor text, subject text, title text, canonical_triggers text[], outcome text, reason text,
        replay_of uuid, polled boolean, author jsonb, occurred_at timestamptz, hook_id text, snapshot boolean, private boolean,
        comment text, thread text, incomplete boolean, traceparent text, headers text, packed text, body_at int, body_bytes int),
      lateral (select ${ownReason} as own_reason) o
      where ${isNew}
      on conflict do nothing returning id, outcome, reason, outcome = 'dispatched' as is_dispatched`;
}

/** The parts `hopped` and `started`, and how many executions of a stored event are held. Without executions, neither part is needed. */
function startingOf(sql: Queryable, arrivals: readonly Arrival[], loops: LoopLimits) {
  if (arrivals.every(({ executions }) => executions.length === 0)) return { use: sql``, held: sql`0` };
  return {
    use: sql`, ${countHops(sql, arrivals, loops)}, started as (${insertExecutions(sql, arrivals, loops)})`,
    held: sql`(select count(*) from started s where s.event_id = stored.id and s.state = 'held')`,
  };
}

/** Stores the executions of the events that were stored as dispatched. Those of a subject with too many hops are held. */
function insertExecutions(sql: Queryable, arrivals: readonly Arrival[], { cooldownSeconds }: LoopLimits) {
  return sql`
      insert into task_executions (id, event_id, task_id, canonical_trigger, source, slug, subject, project, issue, content, packed_content, project_id,
        hop, answers, state, held_reason, held_until, author, author_standing, snapshot, changes, run_after, waiting_for, dry_run, overrides)
      select x.id, x.event_id, x.task_id, x.canonical_trigger, x.source, x.slug, x.subject, x.project, x.issue, x.content, decode(x.packed_content, 'base64'),
        (select p.id from projects p where p.source = x.source
          and ${projectSpelling(sql, sql`p.source_project_id`)} = ${projectSpelling(sql, sql`x.project`)}),
        nullif(h.hops, 0), h.answers, case when l.is_loop then 'held' else 'queued' end,
        case when l.is_loop then replace(x.loop_reason, '{hops}', h.hops::text) end,
        case when l.is_loop then now() + make_interval(secs => ${cooldownSeconds}) end,
        x.author, x.author_standing, x.snapshot, coalesce(x.changes, '{}'), date_trunc('milliseconds', now()) + make_interval(secs => x.delay_ms / 1000),
        case when x.delay_ms > 0 and not l.is_loop then 'further changes of the issue' end, coalesce(x.dry_run, false), x.overrides
      from json_to_recordset(${JSON.stringify(executionRows(arrivals))}::text::json) as x (id uuid, event_id uuid, task_id text, canonical_trigger text,
        source text, slug text, subject text, project text, issue text, content text, packed_content text, max_hops int, loop_reason text,
        author text, author_standing text, snapshot boolean, changes text[], delay_ms float8, dry_run boolean, overrides jsonb)
      left join hopped h on h.subject = x.subject,
      lateral (select coalesce(h.hops > x.max_hops and x.max_hops > 0, false) as is_loop) l
      where x.event_id in (select id from stored where is_dispatched)
      returning event_id, state`;
}

/**
 * Locks the issues of closes and snapshots until the transaction ends, in the order in which `order_snapshots()` locks those of
 * snapshots, and after them the paths of the closes, which a poll locks while it stores its events. The next statement sees what the
 * earlier holders of the locks stored.
 */
export async function lockSubjects(tx: Queryable, arrivals: readonly Arrival[]): Promise<void> {
  const isOrdered = ({ event, closes }: Arrival) => (closes || event.snapshot) && !event.polled && event.subject !== null;
  const ordered = inOrderOfLocks(arrivals.filter(isOrdered));
  const subjects = ordered.map(({ event }) => event.subject ?? "");
  await tx`select pg_advisory_xact_lock(${firstLockKeys.subject}, hashtext(subject)) from unnest(${subjects}::text[]) subject`;
  // Polls use the path of the source, also if the webhook is that of an integration.
  const paths = new Set(ordered.flatMap(({ event, closes }) => (closes ? [event.slug, event.source] : [])));
  await tx`select pg_advisory_xact_lock_shared(${firstLockKeys.webhookPath}, hashtext(path)) from unnest(${[...paths]}::text[]) path`;
}

/**
 * Cancels what edits started that were being stored at the same moment as these polled closes. The statement that stored a close did
 * not see them. It could not wait for them: webhooks hold the locks of their issues while they wait for the path that a poll has
 * locked. `together`: ids of the events that this statement stored. Returns the executions by the id of their close.
 */
export async function endMissed(
  tx: Queryable,
  closes: readonly Arrival[],
  together: readonly string[],
): Promise<Map<string, readonly string[]>> {
  const subjects = inOrderOfLocks(closes).map(({ event }) => event.subject ?? "");
  await tx`select pg_advisory_xact_lock(${firstLockKeys.subject}, hashtext(subject)) from unnest(${subjects}::text[]) subject`;
  const { use, cancelled } = endingOf(tx, closes, { together });
  const rows = await tx<{ id: string; cancelled: string[] }[]>`
    with stored as (
      select id, reason, received_at from webhook_events where id = any(${closes.map(({ event }) => event.id)}::uuid[])
    ) ${use} select id, ${cancelled} as cancelled from stored`;
  return new Map(rows.map((row) => [row.id, row.cancelled]));
}

/**
 * The earlier event with the same delivery or body, or that reports the same change. The body and the content of this event may
 * already be stored with its id, although the event is not. If so, this replaces the id with that of the earlier event.
 */
export async function findEarlier(
  sql: Queryable,
  event: NewEvent,
  copy: Arrival["copy"] = null,
  hookDigest: string | null = null,
): Promise<string | undefined> {
  const body = sql`slug = any(${[...(copy?.scopes ?? [])]}::text[]) and digest = decode(${copy?.digest ?? null}, 'hex')`;
  const content = sql`source = ${event.source} and digest = decode(${hookDigest}, 'hex')`;
  const [row] = await sql<{ id: string }[]>`
    with found as (
      select id, 1 as rank from webhook_events
      where id = ${event.id}
      union all
      select id, 2 from webhook_events
      where slug = ${event.slug} and delivery_id = ${event.delivery_id}
      union all
      select id, 3 from webhook_events
      where slug = ${event.slug} and hashtext(change_key) = hashtext(${event.change_key}) and change_key = ${event.change_key} and (polled or ${event.polled})
      union all
      select event_id, 4 from webhook_bodies where ${body} and event_id <> ${event.id}
      union all
      select event_id, 5 from hook_deliveries where ${content} and event_id <> ${event.id}
    ), earlier as (
      select id from found order by exists (select 1 from webhook_events e where e.id = found.id) desc, rank limit 1
    ), bodies as (
      update webhook_bodies set event_id = earlier.id from earlier where ${body} and event_id = ${event.id} and earlier.id <> ${event.id}
    ), contents as (
      update hook_deliveries set event_id = earlier.id from earlier where ${content} and event_id = ${event.id} and earlier.id <> ${event.id}
    )
    select id from earlier`;
  return row?.id;
}

/** Whether the database compresses payloads with lz4. The embedded one and some servers are built without it. */
export async function compressesWithLz4(sql: Queryable): Promise<boolean> {
  const [body] = await sql<{ is_lz4: boolean }[]>`
    select attcompression = 'l' as is_lz4 from pg_attribute where attrelid = 'webhook_events'::regclass and attname = 'body'`;
  return body?.is_lz4 ?? false;
}
