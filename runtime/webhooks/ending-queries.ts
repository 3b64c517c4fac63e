import type { Queryable } from "../platform/database/client.ts";
import { namesOf } from "../subject-names/subject-key.ts";
import type { Arrival, NewEvent, StoredEvent } from "./arrival.ts";
import type { CommandEvent, Effect } from "./command.ts";

/** Who caused an event. Ids are comparable only within a source. */
export function authorKey({ source, author, actor }: Pick<NewEvent, "source" | "author" | "actor">): string | null {
  const authorId = author?.id ?? author?.name ?? actor;
  return authorId === null ? null : `${source}:${authorId}`;
}

/**
 * Cancels the executions on closed issues, unless a policy lets them finish. The statement does not see the executions that it
 * stores itself, so tasks that the close starts are not cancelled. `together`: the closes were stored before, together with these
 * events, which follow them; cancels only the executions of other events, which arrived before the closes or at the same time.
 */
export function endingOf(sql: Queryable, arrivals: readonly Arrival[], { together }: { together?: readonly string[] } = {}) {
  const closed = arrivals.flatMap(({ event, closes }) =>
    closes && event.subject !== null
      ? namesOf(event.subject).map((subject) => ({ id: event.id, subject, reason: event.reason }))
      : [],
  );
  if (closed.length === 0) return { use: sql``, cancelled: sql`'{}'::text[]` };
  const earlier = together
    ? sql`and exists (select 1 from webhook_events e where e.id = x.event_id and e.received_at <= c.received_at
        and not e.id = any(${together as string[]}::uuid[]))`
    : sql``;
  const at = (state: string) => sql`
    select x.id, c.id as event_id, x.task_id, x.agent_id, x.project_id from closed c
    join task_executions x on x.subject = c.subject and ${sql.unsafe(state)} ${earlier}`;
  const use = sql`, closed as (
      select c.* ${together ? sql`, stored.received_at` : sql``} from json_to_recordset(${JSON.stringify(closed)}::text::json) as c (id uuid, subject text, reason text)
      join stored on stored.id = c.id where stored.reason is not distinct from c.reason
    ), begun as (
      ${at("x.state = 'queued'")} union all ${at("x.state = 'running'")} union all ${at("x.state in ('held', 'waiting')")}
    ), over as (
      select b.id, b.event_id, coalesce(p.policy->>'on_close', '') as of_project, coalesce(a.policy->>'on_close', '') as of_agent
      from begun b left join projects p on p.id = b.project_id left join tasks t on t.id = b.task_id
      left join agents a on a.id = coalesce(b.agent_id, t.actor_id)
    ), locked as (
      select e.id, o.event_id from task_executions e join over o on o.id = e.id
      where 'cancel' in (o.of_project, o.of_agent) or 'finish' not in (o.of_project, o.of_agent)
      order by e.id for update of e
    ), ended as (
      update task_executions e set state = 'cancelled', lease = null, lease_expires_at = null, finished_at = now(), error = null,
        held_reason = null, held_until = null, waiting_for = null, reason = 'the issue was closed (event ' || l.event_id || ')'
      from locked l where e.id = l.id and e.state in ('queued', 'running', 'held', 'waiting') returning e.id::text, l.event_id
    )`;
  return { use, cancelled: sql`array(select e.id from ended e where e.event_id = stored.id)` };
}

/**
 * An earlier event whose command came by the same comment and webhook and may not be repeated: a webhook can be sent again, with
 * another delivery id, by whoever has a copy of it. Of concurrent copies, one waits for the other. `isById`: the event names its
 * issue only by an id, and the earlier one may have got the name of the issue.
 */
export async function findCarriedOut(tx: Queryable, event: CommandEvent, isById = false): Promise<string | undefined> {
  const { id, slug, subject, comment } = event;
  if (comment === null || subject === null) return undefined;
  await tx`select pg_advisory_xact_lock(hashtextextended(${`command ${slug} ${subject} ${comment}`}, 0))`;
  const [earlier] = await tx<{ id: string }[]>`
    select id from webhook_events where ${isById ? tx`` : tx`subject = ${subject} and`} slug = ${slug} and comment = ${comment}
      and id <> ${id} and carried_out limit 1`;
  return earlier?.id;
}

/** Discards an event that was stored as dispatched. Returns what changed. */
export async function discard(sql: Queryable, id: string, reason: string): Promise<Pick<StoredEvent, "outcome" | "reason">> {
  await sql`update webhook_events set outcome = 'discarded', reason = ${reason} where id = ${id}`;
  return { outcome: "discarded", reason };
}

/** Sets the reason of an event. */
export const setReason = (sql: Queryable, id: string, reason: string): Promise<unknown> =>
  sql`update webhook_events set reason = ${reason.slice(0, 500)} where id = ${id}`;

/** Records the name of the issue of a command that was carried out. Returns `false` if its reason has changed. */
export async function nameEvent(
  sql: Queryable,
  { id, subject }: Pick<NewEvent, "id" | "subject">,
  reason: string,
): Promise<boolean> {
  const rows = await sql`
    update webhook_events set subject = ${subject} where id = ${id} and reason = ${reason.slice(0, 500)} returning id`;
  return rows.length > 0;
}

/** Records what a pending command waited for: its issue and the standing of its author. Returns `false` if it is no longer waiting. */
export async function endPending(
  sql: Queryable,
  { id, subject }: Pick<NewEvent, "id" | "subject">,
  pending: string,
  standing: string,
): Promise<boolean> {
  const rows = await sql`
    update webhook_events set subject = ${subject}, author = jsonb_set(author, '{standing}', to_jsonb(${standing}::text))
    where id = ${id} and outcome = 'discarded' and reason = ${pending} returning id`;
  return rows.length > 0;
}

/** Records the effect of an event's command. */
export const setEffect = (sql: Queryable, id: string, { summary, mayRepeat }: Effect): Promise<unknown> =>
  sql`
    update webhook_events set outcome = 'dispatched', reason = ${summary.slice(0, 500)}, carried_out = ${!mayRepeat} where id = ${id}`;
