import type { jobs } from "@signalbox/schema/knowledge";
import type { Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";
import { dueRow, leaseFor } from "../platform/lease-queries.ts";

export type Job = Output<typeof jobs>["items"][number];

/** A job held by a replica. */
export interface ClaimedJob {
  readonly id: string;
  readonly knowledge_source_id: string;
  readonly lease: string;
  readonly cursor: string | null;
  readonly listed: boolean;
  readonly attempts: number;
}

const columns = (sql: Queryable) => sql`
  id, knowledge_source_id, status, pages_seen, pages_changed, pages_deleted, chunks_written, error, created_at, started_at, finished_at`;

/** Finished jobs kept for each source. */
const keptJobs = 200;

export async function listJobs(
  sql: Queryable,
  source: string,
  page: { limit: number; offset: number },
): Promise<{ items: Job[]; total: number }> {
  const items = await sql<Job[]>`
    select ${columns(sql)} from ingestion_jobs where knowledge_source_id = ${source}
    order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<
    [{ total: number }]
  >`select count(*) as total from ingestion_jobs where knowledge_source_id = ${source}`;
  return { items, total: count.total };
}

/** Makes the open sync of a source due, if it waits to be retried. Its attempts begin again, so that asking often does not fail it. */
export const hurryJob = (sql: Queryable, source: string): Promise<unknown> =>
  sql`update ingestion_jobs set next_attempt_at = now(), attempts = 0 where knowledge_source_id = ${source} and status = 'queued'
    and next_attempt_at > now()`;

/** Queues a sync, or returns the one already open. `undefined` if the source does not exist. */
export async function openJob(sql: Queryable, id: string, source: string): Promise<Job | undefined> {
  for (let tries = 0; tries < 3; tries++) {
    const [createdJob] = await sql<Job[]>`
      insert into ingestion_jobs (id, knowledge_source_id) select ${id}, id from knowledge_sources where id = ${source}
      on conflict (knowledge_source_id) where status in ('queued', 'running') do nothing returning ${columns(sql)}`;
    const [open] = createdJob
      ? [createdJob]
      : await sql<Job[]>`
          select ${columns(sql)} from ingestion_jobs where knowledge_source_id = ${source} and status in ('queued', 'running')`;
    if (open) return open;
    // The open job ended in between, or the source does not exist.
  }
  return undefined;
}

/** Queues a sync of each enabled source whose last one started long enough ago. */
export async function openDueJobs(sql: Queryable, minutes: number, newId: () => string): Promise<number> {
  const due = await sql<{ id: string }[]>`
    select id from knowledge_sources s where enabled and created_at <= now() - make_interval(mins => ${minutes}) and not exists (
      select 1 from ingestion_jobs j where j.knowledge_source_id = s.id
        and (j.status in ('queued', 'running') or j.created_at > now() - make_interval(mins => ${minutes})))`;
  for (const { id } of due) await openJob(sql, newId(), id);
  return due.length;
}

export const jobRows = {
  table: "ingestion_jobs",
  key: "id",
  dueColumn: "next_attempt_at",
  condition: "status in ('queued', 'running')",
} as const;

/** Claims the oldest job that is due and that no live replica holds. */
export async function claimJob(sql: Queryable, lease: string, leaseSeconds: number): Promise<ClaimedJob | undefined> {
  const [row] = await sql<ClaimedJob[]>`
    with ${dueRow(sql, jobRows)}
    update ingestion_jobs j set status = 'running', ${leaseFor(sql, lease, leaseSeconds)}, started_at = coalesce(started_at, now())
    from due where j.id = due.id
    returning j.id, j.knowledge_source_id, j.lease, j.cursor, j.listed, j.attempts`;
  return row;
}

export interface JobChange {
  readonly pagesSeen?: number;
  readonly pagesChanged?: number;
  readonly pagesDeleted?: number;
  readonly chunks?: number;
  readonly cursor?: string | null;
  readonly listed?: boolean;
}

/** Adds to a job's progress in the transaction of the step. `false` if this replica no longer holds it. */
export async function advanceJob(sql: Queryable, { id, lease }: ClaimedJob, by: JobChange): Promise<boolean> {
  const result = await sql`
    update ingestion_jobs set pages_seen = pages_seen + ${by.pagesSeen ?? 0}, pages_changed = pages_changed + ${by.pagesChanged ?? 0},
      pages_deleted = pages_deleted + ${by.pagesDeleted ?? 0}, chunks_written = chunks_written + ${by.chunks ?? 0},
      cursor = case when ${by.cursor === undefined} then cursor else ${by.cursor ?? null} end,
      listed = listed or ${by.listed ?? false}, attempts = 0, error = null
    where id = ${id} and lease = ${lease}`;
  return result.count > 0;
}

/** `note`: a warning about a sync that otherwise succeeded. */
export async function succeedJob(
  sql: Queryable,
  { id, lease, knowledge_source_id: source }: ClaimedJob,
  note: string | null,
): Promise<boolean> {
  const done = await sql<{ started_at: string }[]>`
    update ingestion_jobs set status = 'succeeded', finished_at = now(), lease = null, lease_expires_at = null, error = ${note}
    where id = ${id} and lease = ${lease} returning started_at`;
  const [job] = done;
  if (!job) return false;
  await sql`update knowledge_sources set last_synced_at = ${job.started_at} where id = ${source}`;
  await sql`
    delete from ingestion_jobs where knowledge_source_id = ${source} and status in ('succeeded', 'failed') and id not in (
      select id from ingestion_jobs where knowledge_source_id = ${source} order by created_at desc, id desc limit ${keptJobs})`;
  return true;
}

/** Queues a job again after a transient failure. */
export const postponeJob = (sql: Queryable, { id, lease }: ClaimedJob, error: string, waitMs: number): Promise<unknown> =>
  sql`
    update ingestion_jobs set status = 'queued', error = ${error}, attempts = attempts + 1, lease = null, lease_expires_at = null,
      next_attempt_at = now() + ${waitMs}::float8 * interval '1 millisecond'
    where id = ${id} and lease = ${lease}`;

export const failJob = (sql: Queryable, { id, lease }: ClaimedJob, error: string): Promise<unknown> =>
  sql`
    update ingestion_jobs set status = 'failed', error = ${error}, finished_at = now(), lease = null, lease_expires_at = null
    where id = ${id} and lease = ${lease}`;

/** Failures since the last progress; 0 if this replica no longer holds the job. */
export async function attemptsOf(sql: Queryable, { id, lease }: ClaimedJob): Promise<number> {
  const [row] = await sql<{ attempts: number }[]>`select attempts from ingestion_jobs where id = ${id} and lease = ${lease}`;
  return row?.attempts ?? 0;
}
