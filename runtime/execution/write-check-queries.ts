import type { PostedComment } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { dueRow, leaseFor } from "../platform/lease-queries.ts";
import { type StoredStep, shownStep } from "../transcripts/stored-steps.ts";
import { textsOf } from "../transcripts/text-queries.ts";
import type { StepRow } from "./steps/rows.ts";

/** A write that may exist twice, with the data needed to look for it. */
export interface WriteCheck extends Pick<StepRow, "kind" | "state" | "name" | "key" | "input" | "output" | "agent_id"> {
  readonly step_id: string;
  readonly lease: string;
  /** Claims since the last look that succeeded. */
  readonly attempts: number;
  /** Looks that succeeded. */
  readonly looks: number;
  readonly execution_id: string;
  readonly source: string;
  readonly slug: string;
  readonly project_id: number | null;
  readonly project: string | null;
  readonly subject: string | null;
  readonly issue: string | null;
  /** Whether the execution's writes are private. */
  readonly private: boolean;
  /** Whether it is an answer in a living comment. */
  readonly is_living: boolean;
  /** Why its input or output cannot be read; both are needed to look for it. */
  readonly unreadable?: string | undefined;
  /** Its stored comment is a living comment that a later write has edited, so the comment has another key. */
  readonly is_edited: boolean;
}

/** Schedules checks of writes after `delayMs`: their outcome is unknown, and another worker may have repeated them. */
export async function scheduleWriteChecks(sql: Sql, stepIds: readonly string[], delayMs: number): Promise<void> {
  await sql`
    insert into write_checks (step_id, due_at)
    select id, now() + make_interval(secs => ${delayMs / 1000}) from execution_steps where id = any(${stepIds as string[]}::uuid[])
    on conflict (step_id) do update set due_at = greatest(write_checks.due_at, excluded.due_at), attempts = 0, looks = 0`;
}

export const checkRows = { table: "write_checks", key: "step_id", dueColumn: "due_at" } as const;

/** Claims the check that has been due for the longest time. */
export async function claimWriteCheck(sql: Sql, lease: string, leaseSeconds: number): Promise<WriteCheck | undefined> {
  const [row] = await sql<StoredStep<WriteCheck>[]>`
    with ${dueRow(sql, checkRows)}
    update write_checks c set ${leaseFor(sql, lease, leaseSeconds)}, attempts = c.attempts + 1
    from due join execution_steps s on s.id = due.step_id join task_executions e on e.id = s.execution_id
      left join webhook_events w on w.id = e.event_id
    where c.step_id = due.step_id
    returning c.step_id, c.lease, c.attempts, c.looks, s.kind, s.state, s.name, s.key, ${textsOf(sql, "s")}, s.agent_id,
      e.id as execution_id, e.source, e.slug, e.project_id, e.project, e.issue, e.subject,
      coalesce(w.private, false) as private,
      s.kind = 'post' and exists (select from living_comments l where l.subject = e.subject and l.settled_by = e.id) as is_living,
      exists (select from living_comments l where l.subject = e.subject and l.comment_id = s.output ->> 'id' and l.key is distinct from s.key) as is_edited`;
  return row && shownStep(row);
}

type ClaimedCheck = Pick<WriteCheck, "step_id" | "lease">;

export async function finishWriteCheck(sql: Sql, { step_id, lease }: ClaimedCheck): Promise<void> {
  await sql`delete from write_checks where step_id = ${step_id} and lease = ${lease}`;
}

/** A look has succeeded; the next one follows after `ms`. */
export async function recordCheck(sql: Sql, { step_id, lease }: ClaimedCheck, ms: number): Promise<void> {
  await sql`
    update write_checks set due_at = now() + make_interval(secs => ${ms / 1000}), lease = null, lease_expires_at = null,
      attempts = 0, looks = looks + 1
    where step_id = ${step_id} and lease = ${lease}`;
}

/** Replaces the stored write of a step, also in its living comment, with the write that remains at the platform. */
export async function replaceOutput(sql: Sql, check: WriteCheck, output: unknown, url: string | null): Promise<void> {
  const id = check.kind === "post" ? ((output as PostedComment | null)?.id ?? null) : null;
  await sql`
    with step as (update execution_steps set output = ${JSON.stringify(output)}::text::json where id = ${check.step_id}),
      living as (
        update living_comments set comment_id = ${id}, url = ${url}
        where subject = ${check.subject} and settled_by = ${check.execution_id} and key = ${check.key} and ${id !== null}
      )
    update task_executions set result_url = ${url}
    where id = ${check.execution_id} and ${check.kind === "post" && url !== null}`;
}
