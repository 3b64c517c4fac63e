import { asyncCommit } from "../platform/database/async-commit.ts";
import type { Queryable } from "../platform/database/client.ts";

/** A change that has begun. */
export interface OpenChange {
  readonly id: string;
  /** The entry (JSON) that the log gets if the process ends before it knows the result. */
  readonly entry: string;
}

/** What the log gets of a change. */
export interface Result {
  /** The open change that it ends; `null` if none was stored. */
  readonly id: string | null;
  readonly entry: string;
}

/**
 * Stores that changes begin. The commit does not wait for the disk: PostgreSQL writes its commits in their order, so none of the
 * changes can be on disk without this.
 */
export async function insertOpenChanges(sql: Queryable, replica: string, changes: readonly OpenChange[]): Promise<void> {
  await sql`
    insert into open_changes (id, replica, entry)
    select id, ${replica}, entry::json
    from unnest(${changes.map(({ id }) => id)}::uuid[], ${changes.map(({ entry }) => entry)}::text[]) as given (id, entry)
    where ${asyncCommit(sql)}`;
}

/** Ends changes that changed nothing. */
export async function deleteOpenChanges(sql: Queryable, ids: readonly string[]): Promise<void> {
  await sql`delete from open_changes where id = any(${ids as string[]}::uuid[]) and ${asyncCommit(sql)}`;
}

/**
 * Appends results to the log and ends their changes, in one statement. `onlyOpen`: omits those whose changes are not open any more,
 * because an earlier statement without an answer has appended them.
 */
export async function appendResults(sql: Queryable, results: readonly Result[], { onlyOpen = false } = {}): Promise<void> {
  await sql`
    with given as (
      select id, entry, n
      from unnest(${results.map(({ id }) => id)}::uuid[], ${results.map(({ entry }) => entry)}::text[]) with ordinality as g (id, entry, n)
    ), ended as (
      delete from open_changes where id in (select id from given) returning id
    )
    select append_to_audit_log(array(
      select entry from given where not ${onlyOpen} or id in (select id from ended) order by n))`;
}

/** Appends that the results of these changes are unknown. Of several replicas that call it, one appends each. */
export async function appendUnknown(sql: Queryable, ids: readonly string[]): Promise<void> {
  await sql`
    with ended as (
      delete from open_changes where id = any(${ids as string[]}::uuid[]) returning id, entry
    )
    select append_to_audit_log(array(select entry::text from ended order by id))`;
}

/**
 * The stored changes of this replica that are not among its `open` ones, and those of replicas that have ended: that have no row, or
 * have sent no heartbeat for `silentSeconds`. A replica that starts has no row yet, so only changes that are 20 seconds old count.
 */
export const findLeftovers = (
  sql: Queryable,
  { replica, open, silentSeconds }: { replica: string; open: readonly string[]; silentSeconds: number },
) =>
  sql<{ id: string; is_own: boolean }[]>`
    select id, replica = ${replica} as is_own from open_changes c
    where begun_at < now() - interval '20 seconds' and case when replica = ${replica} then id <> all(${open as string[]}::uuid[])
      else not exists (select from replicas r where r.id = c.replica and r.seen_at > now() - ${silentSeconds}::int * interval '1 second') end
    order by id limit 1000`;
