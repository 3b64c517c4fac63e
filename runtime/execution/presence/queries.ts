import type { Queryable, Sql } from "../../platform/database/client.ts";
import { dueRow, leaseFor } from "../../platform/lease-queries.ts";
import type { AnswerPlace, ClaimedExecution } from "../queries.ts";

/** A pending update of the progress sign (reaction or comment) of an execution. */
export interface Sign
  extends Pick<ClaimedExecution, "slug" | "source" | "agent_id" | "project_id" | "project" | "issue" | "subject" | "task_id"> {
  readonly execution_id: string;
  readonly sign: "working" | "done" | "failed" | null;
  readonly version: number;
  /** Claims since it was last shown or looked for. */
  readonly attempts: number;
  /** Number of checks whether it still shows this; `null` until it is shown. */
  readonly looks: number | null;
  readonly shown: string | null;
  readonly lease: string;
  readonly state: string;
  readonly agent_name: string | null;
  /** Names of the tools that it called so far. */
  readonly tools: readonly string[];
  readonly error: string | null;
  readonly waiting_for: string | null;
  readonly place: Pick<AnswerPlace, "private" | "thread" | "comment"> | null;
}

/** Requests the sign for a run of this worker that takes long. */
export async function beginSign(sql: Sql, { id, lease }: Pick<ClaimedExecution, "id" | "lease">): Promise<void> {
  await sql`
    with marked as (
      update task_executions set has_sign = true where id = ${id} and lease = ${lease} and state = 'running' returning id
    )
    insert into execution_signs (execution_id, sign) select id, 'working' from marked
    on conflict (execution_id) do update
      set sign = 'working', version = execution_signs.version + 1, due_at = now(), attempts = 0, looks = null
      where execution_signs.sign is distinct from 'working' or execution_signs.looks is not null`;
}

/** Requests the sign for executions that connected agents have had for longer than `seconds`. */
export async function beginSignsOfConnected(sql: Sql, seconds: number): Promise<void> {
  await sql`
    with marked as (
      update task_executions set has_sign = true
      where state = 'running' and stream_id is not null and not has_sign and started_at < now() - make_interval(secs => ${seconds})
      returning id
    )
    insert into execution_signs (execution_id, sign) select id, 'working' from marked on conflict (execution_id) do nothing`;
}

export const signRows = { table: "execution_signs", key: "execution_id", dueColumn: "due_at" } as const;

export async function claimSign(sql: Sql, lease: string, leaseSeconds: number): Promise<Sign | undefined> {
  const [row] = await sql<Sign[]>`
    with ${dueRow(sql, signRows)}
    update execution_signs s set ${leaseFor(sql, lease, leaseSeconds)}, attempts = s.attempts + 1
    from due join task_executions e on e.id = due.execution_id left join webhook_events w on w.id = e.event_id
    where s.execution_id = due.execution_id
    returning s.execution_id, s.sign, s.version, s.attempts, s.looks, s.shown, s.lease, e.source, e.slug, e.agent_id, e.project_id, e.project,
      e.issue, e.subject, e.task_id, e.state, e.error, e.waiting_for, (select name from agents where id = e.agent_id) as agent_name,
      array(select coalesce(t.name, '') from execution_steps t where t.execution_id = e.id and t.kind = 'tool' order by t.seq) as tools,
      case when w.id is not null then json_build_object('private', w.private, 'thread', w.thread, 'comment', w.comment) end as place`;
  return row;
}

type ClaimedSign = Pick<Sign, "execution_id" | "lease" | "version">;

/**
 * Whether a claimed sign may still be shown. `false` if another replica has claimed it, if it has changed, or if it shows that an
 * execution is working whose answer has been sent.
 */
export async function isCurrent(sql: Sql, { execution_id, lease, version }: ClaimedSign): Promise<boolean> {
  const rows = await sql`
    select from execution_signs s
    where execution_id = ${execution_id} and lease = ${lease} and version = ${version} and (sign is distinct from 'working' or not exists (
      select from execution_steps t where t.execution_id = s.execution_id and t.kind = 'post' and t.state in ('started', 'succeeded')))`;
  return rows.length > 0;
}

/** Ends the update of a sign that was shown or abandoned. If the sign has changed meanwhile, it remains due. */
export async function finishSign(sql: Queryable, { execution_id, lease, version }: ClaimedSign): Promise<void> {
  await sql`
    with shown as (
      delete from execution_signs where execution_id = ${execution_id} and lease = ${lease} and version = ${version}
    )
    update execution_signs set lease = null, lease_expires_at = null
    where execution_id = ${execution_id} and lease = ${lease} and version <> ${version}`;
}

/**
 * Makes the sign due again after `ms`, or immediately if it has changed meanwhile. Once it is shown or looked for, attempts count
 * from zero.
 */
export async function postponeSign(
  sql: Sql,
  { execution_id, lease, version }: ClaimedSign,
  ms: number,
  display?: { readonly text: string; readonly looks: number | null },
): Promise<void> {
  await sql`
    update execution_signs
    set lease = null, lease_expires_at = null, shown = coalesce(${display?.text ?? null}, shown),
      attempts = case when ${display !== undefined} then 0 else attempts end,
      looks = case when ${display === undefined} or version <> ${version} then looks else ${display?.looks ?? null}::int end,
      due_at = case when version = ${version} then now() + make_interval(secs => ${ms / 1000}) else due_at end
    where execution_id = ${execution_id} and lease = ${lease}`;
}
