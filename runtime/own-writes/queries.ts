import type { Queryable } from "../platform/database/client.ts";
import type { OwnWrite } from "./own-write.ts";

/** A write as it is stored: `ref` is the id of the comment, once it is known. */
export interface StoredWrite extends OwnWrite {
  readonly ref: string | null;
}

/** Hours for which a write is stored. */
const keepHours = 24;
/** Maximum number of rows that one statement deletes. */
const portion = 5_000;

/**
 * Part of a statement, to be placed after another one: stores writes of the executions in `leased`. Empty if there are no writes.
 */
export const recordWrites = (sql: Queryable, writes: readonly StoredWrite[]) =>
  writes.length === 0 ? sql`` : sql`, wrote as (${insertWrites(sql, writes, sql`w.execution_id in (select id from leased)`)})`;

/** Stores writes that belong to no execution. */
export const insertWrites = (sql: Queryable, writes: readonly StoredWrite[], condition = sql`true`) => sql`
  insert into own_writes (step_id, execution_id, subject, mark, kind, digests, ref)
  select w.step_id, w.execution_id, w.subject, w.mark, w.kind, w.digests, w.ref
  from json_to_recordset(${JSON.stringify(writes)}::text::json)
    as w (step_id uuid, execution_id uuid, subject text, mark text, kind text, digests text[], ref text)
  where ${condition}
  on conflict (step_id) do update set done_at = now(), ref = coalesce(excluded.ref, own_writes.ref)`;

/** An event that may be one of our own changes. */
export interface Suspect {
  readonly id: string;
  readonly subject: string | null;
  /** Digests of the keys in the markers in its payload. */
  readonly marks: readonly string[];
  /** The comment that the event is about. */
  readonly comment: string | null;
  /** The kinds of change that it may report; empty if it names an actor. */
  readonly kinds: readonly string[];
  readonly digests: readonly string[];
  /** When the issue changed, for an event that reports nothing else: a reaction of ours may have changed this time. */
  readonly moved_at?: string | null;
}

/** Stores that a sign is about to be shown on a subject. */
export const recordSign = (
  sql: Queryable,
  sign: { readonly id: string; readonly execution_id: string; readonly subject: string },
) =>
  sql`insert into own_writes (step_id, execution_id, subject, mark, kind, digests)
    values (${sign.id}, ${sign.execution_id}, ${sign.subject}, '', 'sign', '{}')`;

export const endSign = (sql: Queryable, id: string) => sql`update own_writes set done_at = now() where step_id = ${id}`;

/**
 * Part of a statement: `own` contains the suspects that report a write of ours. A marker counts on the comment that the platform
 * returned for our write; before the platform has answered, on any comment. Each write explains only one change without an actor.
 */
export const findOwn = (sql: Queryable, suspects: readonly Suspect[]) => sql`
  suspects as (
    select * from json_to_recordset(${JSON.stringify(suspects)}::text::json)
      as s (id uuid, subject text, marks text[], comment text, kinds text[], digests text[], moved_at timestamptz)
  ), explaining as (
    select distinct on (s.id) s.id, w.step_id from suspects s join own_writes w on w.subject = s.subject
    where (w.kind = any(s.kinds) and w.digests && s.digests
        or w.kind = 'sign' and s.moved_at between w.at - interval '2 seconds' and coalesce(w.done_at, w.at + interval '1 minute') + interval '2 seconds')
      and w.explained is null and w.at > now() - make_interval(hours => ${keepHours})
    order by s.id, w.at
  ), explained as (
    update own_writes w set explained = x.id from explaining x where w.step_id = x.step_id and w.explained is null returning w.explained
  ), own as (
    select s.id, 'it carries the marker of a comment that Signalbox posted' as reason from suspects s
    where exists (select 1 from own_writes w where w.mark = any(s.marks)
      and (w.ref = s.comment or s.comment is null or (w.ref is null and greatest(w.at, w.done_at) > now() - interval '1 hour')))
    union all
    select explained, 'it names no actor, and reports a change that Signalbox made' from explained
  ),`;

/**
 * Deletes a portion of the writes and counted hops that are older than a day, and of the deliveries of hooks that are older than
 * six minutes. Returns whether there may be more.
 */
export async function forgetWrites(sql: Queryable): Promise<boolean> {
  const [row] = await sql<[{ may_have_more: boolean }]>`
    with writes as (
      delete from own_writes where step_id in (
        select step_id from own_writes where at < now() - make_interval(hours => ${keepHours}) limit ${portion} for update skip locked)
      returning 1
    ), hops as (
      delete from subject_hops where subject in (
        select subject from subject_hops where event_at < now() - interval '1 day' limit ${portion} for update skip locked)
      returning 1
    ), hooks as (
      delete from hook_deliveries where (source, digest) in (
        select source, digest from hook_deliveries where received_at < now() - interval '6 minutes' limit ${portion} for update skip locked)
      returning 1
    )
    select greatest((select count(*) from writes), (select count(*) from hops), (select count(*) from hooks)) = ${portion} as may_have_more`;
  return row.may_have_more;
}
