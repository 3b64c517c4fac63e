import type { get } from "@signalbox/schema/executions";
import type { Output } from "@signalbox/schema/operation";
import type { Queryable } from "../../platform/database/client.ts";
import { type StoredStep, shownStep } from "../../transcripts/stored-steps.ts";
import { textsOf } from "../../transcripts/text-queries.ts";

type Proposal = Output<typeof get>["proposals"][number];

interface ProposalRow extends Omit<Proposal, "target" | "tool" | "parameters" | "body" | "kind" | "url"> {
  readonly kind: "tool" | "post";
  readonly name: string | null;
  readonly input: unknown;
  readonly output: unknown;
  readonly subject: string | null;
}

/** The writes of an execution that wait, or waited, for approval, in order. */
export async function listProposals(sql: Queryable, executionId: string): Promise<Proposal[]> {
  const rows = await sql<StoredStep<ProposalRow>[]>`
    select s.id, s.seq, s.kind, s.name, ${textsOf(sql, "s")}, e.subject, s.error, s.decided_by, s.decided_at, s.expires_at,
      case s.state when 'succeeded' then 'applied'
        when 'started' then case when e.state in ('failed', 'cancelled') then 'failed' else 'proposed' end
        when 'dry_run' then case when e.dry_run then 'dry_run' else 'failed' end else s.state end as state
    from execution_steps s join task_executions e on e.id = s.execution_id
    where s.execution_id = ${executionId} and s.kind in ('tool', 'post')
      and (s.state in ('proposed', 'rejected', 'expired') or s.decided_at is not null or (e.dry_run and s.state = 'dry_run'))
    order by s.seq`;
  const shown = rows.map((row) => shownStep(row));
  return shown.map(({ kind, name, input, output, subject, ...row }) => ({
    ...row,
    url: urlOf(output),
    kind: kind === "tool" ? "tool" : "comment",
    tool: kind === "tool" ? name : null,
    target: kind === "tool" ? targetOf(name ?? "", input) : subject,
    parameters: kind === "tool" ? input : null,
    body: kind === "tool" ? null : String((input as { body?: unknown } | null)?.body ?? ""),
  }));
}

/** The address of what was written, if the output has one. */
function urlOf(output: unknown): string | null {
  const { url } = (output ?? {}) as { url?: unknown };
  return typeof url === "string" ? url : null;
}

/** `alpha:octo/app#12`, from the parameters that the tools of all trackers share. */
function targetOf(tool: string, input: unknown): string | null {
  const { project, issue } = (input ?? {}) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === "string" || typeof value === "number" ? String(value) : "");
  const [at, number] = [text(project), text(issue)];
  if (at === "" && number === "") return null;
  const isWhole = at === "" || /^\D+[#!-]\d+$/.test(number);
  const place = isWhole ? number : number === "" ? at : `${at}${/^[#!]/.test(number) ? "" : "#"}${number}`;
  return `${tool.split(".")[0]}:${place}`;
}

export interface Decision {
  readonly verdict: "approve" | "reject";
  /** Who decided: the name of an API key, or `alpha:ann`. */
  readonly by: string;
  /** Ids of the proposals; `null`: all that wait. */
  readonly proposals: readonly string[] | null;
  /** Why they are rejected. */
  readonly reason: string;
}

/** The state when a decision was made; `decided`: the number of proposals that it applies to. */
export interface OpenProposals {
  readonly state: string;
  readonly open: readonly { readonly id: string; readonly expired: boolean }[];
}

/** Locks an execution, so that no other decision is made on it, and reads its open proposals. */
export async function lockOpen(tx: Queryable, executionId: string): Promise<OpenProposals | undefined> {
  const [execution] = await tx<{ state: string }[]>`select state from task_executions where id = ${executionId} for update`;
  if (!execution) return undefined;
  const open = await tx<{ id: string; expired: boolean }[]>`
    select id, coalesce(expires_at <= now(), false) as expired from execution_steps
    where execution_id = ${executionId} and state = 'proposed' and decided_at is null order by seq`;
  return { state: execution.state, open };
}

/** Records that proposals are approved, and queues their execution. */
export async function approveLocked(tx: Queryable, executionId: string, ids: readonly string[], by: string): Promise<void> {
  await tx`
    with decided as (
      update execution_steps set decided_by = ${by}, decided_at = now() where id = any(${ids as string[]}::uuid[])
    )
    update task_executions set state = 'queued', run_after = default, failures = 0, error = null, waiting_for = null
    where id = ${executionId}`;
}

/** Ends an execution whose open proposals are rejected or have expired. */
export async function endLocked(
  tx: Queryable,
  executionId: string,
  { state, by, error }: { readonly state: "rejected" | "expired"; readonly by: string | null; readonly error: string },
): Promise<void> {
  await tx`
    update execution_steps set state = ${state}, decided_by = ${by}, decided_at = now(), error = ${error}
    where execution_id = ${executionId} and state = 'proposed' and decided_at is null`;
  await tx`
    update task_executions set state = 'cancelled', finished_at = now(), waiting_for = null, error = ${error}
    where id = ${executionId} and state = 'waiting'`;
}

interface WaitingOn {
  readonly subjects: readonly string[];
  readonly reach: string | null;
  readonly before: string | null;
}

/**
 * The executions that wait for approval on an issue, oldest first. `reach`: only those that webhooks of this path started; `before`: only
 * those all of whose open proposals were made until then.
 */
export const waitingOn = (sql: Queryable, { subjects, reach, before }: WaitingOn): Promise<{ id: string }[]> =>
  sql<{ id: string }[]>`
    select id from task_executions where subject = any(${subjects as string[]}::text[]) and state = 'waiting'
      and ${reach === null ? sql`true` : sql`slug = ${reach}`}
      and ${
        before === null
          ? sql`true`
          : sql`not exists (select from execution_steps s where s.execution_id = task_executions.id and s.state = 'proposed'
              and s.decided_at is null and s.created_at > ${before})`
      } order by created_at, id limit 100`;

/** An execution with an expired proposal that no worker is about to write. */
export async function findExpired(sql: Queryable): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select e.id from execution_steps s join task_executions e on e.id = s.execution_id
    where s.state = 'proposed' and s.decided_at is null and s.expires_at <= now() and e.state not in ('queued', 'running', 'held')
    order by s.expires_at limit 1 for update of e skip locked`;
  return row?.id;
}

/** Milliseconds until the next proposal expires; `null`: none will. */
export async function nextExpiry(sql: Queryable): Promise<number | null> {
  const [row] = await sql<{ wait: number | null }[]>`
    select (extract(epoch from min(expires_at) - now()) * 1000)::float8 as wait from execution_steps
    where state = 'proposed' and decided_at is null and expires_at > now()`;
  return row?.wait ?? null;
}
