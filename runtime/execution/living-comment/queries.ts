import type { Queryable, Sql } from "../../platform/database/client.ts";
import { leaseFor } from "../../platform/lease-queries.ts";
import { readStep, type StoredStep } from "../../transcripts/stored-steps.ts";
import { textsOf } from "../../transcripts/text-queries.ts";

/** Identifies a living comment. */
export interface LivingPlace {
  readonly subject: string;
  readonly agent: string;
  readonly place: string;
  readonly connection: string;
}
export interface LivingComment {
  readonly comment_id: string | null;
  readonly url: string | null;
  readonly key: string | null;
  /** The key of a write that was left unfinished. */
  readonly pending_key: string | null;
  /** The keys of earlier writes whose requests the platform may still carry out, oldest first. */
  readonly lost_keys: readonly string[];
  readonly answered_by: string | null;
}

const atPlace = (sql: Queryable, { subject, agent, place, connection }: LivingPlace) =>
  sql`l.subject = ${subject} and l.agent = ${agent} and l.place = ${place} and l.connection = ${connection}`;

interface Taking {
  readonly lease: string;
  readonly key: string;
  readonly leaseMs: number;
  /**
   * The execution whose answer is about to be written. It is stored first, so that no progress update replaces the answer after a
   * crash.
   */
  readonly answeredBy: string | null;
}

/** Reads a living comment without its lease; `undefined` if there is none. */
export async function readLiving(sql: Sql, living: LivingPlace): Promise<LivingComment | undefined> {
  const [row] = await sql<LivingComment[]>`
    select comment_id, url, key, pending_key, settled_by as answered_by, lost_keys from living_comments l where ${atPlace(sql, living)}`;
  return row;
}

/** Leases a living comment for one write under `key`; `undefined` if another writer has the lease. */
export async function takeLiving(
  sql: Sql,
  livingPlace: LivingPlace,
  { lease, key, leaseMs, answeredBy }: Taking,
): Promise<LivingComment | undefined> {
  const take = async () => {
    const [row] = await sql<LivingComment[]>`
      with free as (
        select l.ctid as at, comment_id, url, key, pending_key, settled_by, lost_keys from living_comments l
        where ${atPlace(sql, livingPlace)} and (lease is null or lease_expires_at < now()) for update
      )
      update living_comments l
      set ${leaseFor(sql, lease, leaseMs / 1000)}, pending_key = coalesce(l.pending_key, ${key}), settled_by = coalesce(${answeredBy}::uuid, l.settled_by)
      from free where l.ctid = free.at
      returning free.comment_id, free.url, free.key, free.pending_key, free.settled_by as answered_by, free.lost_keys`;
    return row;
  };
  const comment = await take();
  if (comment) return comment;
  const { subject, agent, place, connection } = livingPlace;
  const rows = await sql`
    insert into living_comments (subject, agent, place, connection) values (${subject}, ${agent}, ${place}, ${connection})
    on conflict do nothing`;
  return rows.count > 0 ? take() : undefined;
}

type Change = Partial<Pick<LivingComment, "comment_id" | "url" | "key" | "answered_by" | "lost_keys">> & {
  readonly pending_key: string | null;
  /** The write has ended. */
  readonly ends: boolean;
};

/** Stores the new state of a living comment. Absent members keep their value. */
export async function storeLiving(sql: Sql, livingPlace: LivingPlace, lease: string, change: Change): Promise<void> {
  const isSet = (name: "comment_id" | "url" | "key" | "answered_by") => name in change;
  await sql`
    update living_comments l
    set comment_id = case when ${isSet("comment_id")} then ${change.comment_id ?? null} else comment_id end,
      url = case when ${isSet("url")} then ${change.url ?? null} else url end,
      key = case when ${isSet("key")} then ${change.key ?? null} else key end,
      settled_by = case when ${isSet("answered_by")} then ${change.answered_by ?? null}::uuid else settled_by end,
      lost_keys = coalesce(${(change.lost_keys as string[] | undefined) ?? null}::text[], lost_keys),
      pending_key = ${change.pending_key},
      lease = case when ${change.ends} then null else lease end,
      lease_expires_at = case when ${change.ends} then null else lease_expires_at end
    where ${atPlace(sql, livingPlace)} and lease = ${lease}`;
}

/** The key of an answer: that of its execution, and the number of its step. */
const answerKey = /^([0-9a-f-]{36})\.(\d+)$/;

/**
 * Whether a comment with this key, which is not the living comment, is the copy of a lost write. `false` if the run has posted its answer
 * there, because it no longer keeps a living comment, or may still do so. `false` also if its post failed: no other comment has
 * the answer.
 */
export async function isCopy(sql: Sql, key: string, commentId: string): Promise<boolean> {
  const [, execution, seq] = answerKey.exec(key) ?? [];
  if (execution === undefined) return true;
  const rows = await sql`
    select from execution_steps where execution_id = ${execution} and seq = ${Number(seq)}
      and state = 'succeeded' and output ->> 'id' is distinct from ${commentId}`;
  return rows.length > 0;
}

/** The answer that an execution posted, if it is still stored. */
export async function findAnswer(sql: Sql, executionId: string): Promise<string | null> {
  const [row] = await sql<StoredStep<{ kind: string; input: unknown; output: unknown }>[]>`
    select kind, ${textsOf(sql, "execution_steps")} from execution_steps
    where execution_id = ${executionId} and kind = 'post' and state = 'succeeded' order by seq desc limit 1`;
  return row ? ((readStep(row).input as { body?: string } | null)?.body ?? null) : null;
}
