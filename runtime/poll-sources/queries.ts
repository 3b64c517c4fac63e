import type { Output } from "@signalbox/schema/operation";
import type { create, get } from "@signalbox/schema/poll-sources";
import type { z } from "zod";
import type { Queryable } from "../platform/database/client.ts";
import { dueRow, leaseFor } from "../platform/lease-queries.ts";

export type PollSource = Output<typeof get>;
type Settings = z.output<(typeof create)["input"]>;

/** A poll source that a replica has claimed. */
export interface ClaimedPollSource extends PollSource {
  readonly lease: string;
}

const columns = (sql: Queryable) => sql`
  id, source, project_id, interval_minutes, enabled, since, cursor, last_polled_at, last_error, created_at, updated_at`;

export async function listPollSources(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: PollSource[]; total: number }> {
  const items = await sql<
    PollSource[]
  >`select ${columns(sql)} from poll_sources order by id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from poll_sources`;
  return { items, total: count.total };
}

export async function findPollSource(sql: Queryable, id: number): Promise<PollSource | undefined> {
  const [row] = await sql<PollSource[]>`select ${columns(sql)} from poll_sources where id = ${id}`;
  return row;
}

export async function insertPollSource(sql: Queryable, settings: Settings): Promise<PollSource> {
  const [row] = await sql<[PollSource]>`
    insert into poll_sources (source, project_id, interval_minutes, enabled, since, next_poll_at)
    values (${settings.source}, ${settings.project_id}, ${settings.interval_minutes}, ${settings.enabled}, ${settings.since ?? null},
      now() + make_interval(mins => ${settings.interval_minutes}))
    returning ${columns(sql)}`;
  return row;
}

/** A new source, project or `since` resets the cursor. */
export async function updatePollSource(
  sql: Queryable,
  id: number,
  change: { [M in keyof Settings]?: Settings[M] | undefined },
): Promise<PollSource | undefined> {
  const has = (member: keyof Settings) => change[member] !== undefined;
  const [row] = await sql<PollSource[]>`
    with given as (
      select p.id, coalesce(${change.source ?? null}, p.source) as source, coalesce(${change.project_id ?? null}, p.project_id) as project_id,
        coalesce(${change.interval_minutes ?? null}::int, p.interval_minutes) as interval_minutes,
        coalesce(${change.enabled ?? null}::boolean, p.enabled) as enabled,
        case when ${has("since")} then ${change.since ?? null}::timestamptz(3) else p.since end as since
      from poll_sources p where p.id = ${id} for update
    ), compared as (
      select g.*, (g.source, g.project_id) is distinct from (p.source, p.project_id) or g.since is distinct from p.since as anew,
        g.interval_minutes <> p.interval_minutes or (g.enabled and not p.enabled) as reschedule
      from given g join poll_sources p on p.id = g.id
    )
    update poll_sources p
    set source = c.source, project_id = c.project_id, interval_minutes = c.interval_minutes, enabled = c.enabled, since = c.since,
      cursor = case when not c.anew then p.cursor end,
      next_poll_at = case when c.reschedule
        then greatest(coalesce(p.last_polled_at, now()) + make_interval(mins => c.interval_minutes), now()) else p.next_poll_at end,
      updated_at = now()
    from compared c where p.id = c.id
    returning p.id, p.source, p.project_id, p.interval_minutes, p.enabled, p.since, p.cursor, p.last_polled_at, p.last_error,
      p.created_at, p.updated_at`;
  return row;
}

export async function deletePollSource(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`delete from poll_sources where id = ${id}`).count > 0;
}

export const pollRows = { table: "poll_sources", key: "id", dueColumn: "next_poll_at", condition: "enabled" } as const;

/** Claims one source whose poll is due and that no live replica has leased; the longest overdue first. */
export async function claimDue(sql: Queryable, lease: string, leaseSeconds: number): Promise<ClaimedPollSource | undefined> {
  const [row] = await sql<ClaimedPollSource[]>`
    with ${dueRow(sql, pollRows)}
    update poll_sources p set ${leaseFor(sql, lease, leaseSeconds)}
    from due where p.id = due.id
    returning p.id, p.source, p.project_id, p.interval_minutes, p.enabled, p.since, p.cursor, p.last_polled_at, p.last_error,
      p.created_at, p.updated_at, p.lease`;
  return row;
}

/** The result of a poll. */
interface Outcome {
  /** The cursor; `undefined` leaves it unchanged. */
  readonly cursor?: string;
  readonly error: string | null;
  /** The minimum wait that the tracker requested, in seconds. */
  readonly waitSeconds?: number;
}

/**
 * Stores the result of a poll. The cursor moves only if it has not changed since the poll began, so that of two concurrent polls,
 * one scheduled and one on demand, the second does not move it back. With a lease, only its holder can write.
 */
export async function finishPoll(
  sql: Queryable,
  from: Pick<PollSource, "id" | "cursor" | "updated_at">,
  lease: string | null,
  { cursor, error, waitSeconds = 0 }: Outcome,
): Promise<void> {
  await sql`
    update poll_sources
    set cursor = case when cursor is not distinct from ${from.cursor} and updated_at = ${from.updated_at}
        then coalesce(${cursor ?? null}, cursor) else cursor end,
      last_polled_at = now(), last_error = ${error},
      next_poll_at = now() + greatest(make_interval(mins => interval_minutes), make_interval(secs => ${waitSeconds})),
      lease = case when ${lease === null} then lease end,
      lease_expires_at = case when ${lease === null} then lease_expires_at end
    where id = ${from.id} and (${lease === null} or lease = ${lease})`;
}
