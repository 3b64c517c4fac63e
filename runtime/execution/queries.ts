import type { Policy } from "@signalbox/schema/policy";
import type { EventAuthor } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { messageOf } from "../platform/error-text.ts";
import { unpack } from "../platform/packing/packed.ts";
import { partsOf } from "../untrusted/text-parts.ts";

/** Facts of an execution's event that decide where its answer belongs. See `SourceEvent`. */
export interface AnswerPlace {
  readonly private: boolean;
  readonly thread: string | null;
  readonly comment: string | null;
  /** The payload does not contain all facts about the issue. */
  readonly incomplete: boolean;
  readonly traceparent: string | null;
}

/** Who caused the event of an execution, and when. */
export interface EventOrigin {
  readonly author: EventAuthor | null;
  /** When it happened at the platform, ISO 8601. */
  readonly occurred_at: string | null;
  readonly received_at: string;
}

/** An execution that a worker has leased. */
export interface ClaimedExecution {
  readonly id: string;
  readonly event_id: string | null;
  readonly task_id: string;
  readonly agent_id: string | null;
  readonly project_id: number | null;
  readonly source: string;
  readonly slug: string;
  readonly canonical_trigger: string;
  readonly subject: string | null;
  readonly project: string | null;
  readonly issue: string | null;
  /** The text of its event: parts that the platform shows separately. */
  readonly parts: readonly string[];
  /** Why its stored text cannot be decompressed; `parts` is then empty. `null` if it is readable. */
  readonly unreadable: string | null;
  /** Where the event's answer belongs; `null`: the event is no longer stored, or there was none. */
  readonly place: AnswerPlace | null;
  /** `null`: the event is no longer stored, or there was none. */
  readonly origin: EventOrigin | null;
  readonly attempts: number;
  readonly failures: number;
  readonly deaths: number;
  /** Number of connected agents that received it and did not finish it. */
  readonly handovers: number;
  readonly lease: string;
  /** `held`: a budget was used up. */
  readonly state: "running" | "held";
  /** Who caused its event, comparable within a source. */
  readonly author: string | null;
  /** Its author's standing, as known when the event was stored, or looked up since. */
  readonly author_standing: string | null;
  readonly held_reason: string | null;
  readonly held_until: string | null;
  /** Key of the breaker that it probes: see `breakers/`. */
  readonly probes: string | null;
  /** An operator released it, so hourly, daily and monthly budgets do not hold it. */
  readonly is_released: boolean;
  /** What changed since the last execution for this issue and task. */
  readonly changes: readonly string[];
  /** It writes nothing to trackers. */
  readonly dry_run: boolean;
  /** The agent and the prompt that a replay names. */
  readonly overrides: { readonly agent_id?: string; readonly prompt?: string } | null;
  /** Versions of the rows of its task and its agent at the claim. They change with every update. */
  readonly task_version: string | null;
  readonly agent_version: string | null;
}

/** The request of a worker: how many executions it wants, and what it already runs. */
export interface ClaimRequest {
  readonly worker: string;
  readonly maxExecutions: number;
  readonly leaseSeconds: number;
  /** The limits of the settings. */
  readonly limits: Policy;
  /** Maximum number of slots for one project or author while others wait; `null`: no limit. */
  readonly share: number | null;
  /** Project and author of each execution that the worker has leased. */
  readonly leasedExecutions: readonly Pick<ClaimedExecution, "source" | "project" | "author">[];
}

/**
 * Claims executions that are due, oldest first: only the oldest of each subject, and none of a subject that has a running
 * one. Executions that a budget holds are returned with the state `held`. See `0046_budgets.sql` and
 * `0126_claim_at_depth.sql` (how it works, and why it is a function), `0095_claimed.sql` (why a second function reads the
 * related rows) and `0115_lanes.sql` (which executions it skips).
 */
export async function claimExecutions(sql: Sql, request: ClaimRequest): Promise<ClaimedExecution[]> {
  const rows = await sql<
    (Omit<ClaimedExecution, "parts" | "unreadable"> & { content: string; packed_content: Uint8Array | null })[]
  >`
    with claimed as materialized (
      select * from claim_executions(${request.worker}, ${request.maxExecutions}, ${request.leaseSeconds}, ${JSON.stringify(request.limits)}::text::jsonb,
        ${request.share}, ${request.leasedExecutions.flatMap(({ source, project }) => (project === null ? [] : [`${source}:${project}`]))}::text[],
        ${request.leasedExecutions.flatMap(({ author }) => author ?? [])}::text[])
    )
    select id, event_id, task_id, agent_id, project_id, source, slug, canonical_trigger, subject, project, issue, content, packed_content, changes, attempts,
      failures, deaths, handovers, lease, state, author, author_standing, held_reason, held_until, released_at is not null as is_released, dry_run, overrides,
      w.task_version, w.agent_version, w.probes, w.place, w.origin
    from claimed left join claimed_with(array(select id from claimed)) w using (id)`;
  return rows.map(({ content, packed_content, ...row }) => ({ ...row, ...partsIn(content, packed_content) }));
}

/** The text of an execution. Never throws, because the claim is committed and contains other rows. */
function partsIn(content: string, packed: Uint8Array | null): Pick<ClaimedExecution, "parts" | "unreadable"> {
  try {
    return { parts: partsOf(packed === null ? content : Buffer.from(unpack(packed)).toString()), unreadable: null };
  } catch (error) {
    return { parts: [], unreadable: messageOf(error) };
  }
}

/**
 * Queues the executions whose hold has ended. Returns the milliseconds until the next queued execution that can run is due
 * or the next hold ends; `null` if there is none. A hold that another statement is ending at this moment is also over.
 */
export async function nextDue(sql: Sql): Promise<number | null> {
  const [row] = await sql<{ wait: number | null }[]>`
    with due as (
      select id from task_executions where state = 'held' and held_until <= now() order by id for update skip locked
    ), released as (
      update task_executions e set state = 'queued', run_after = default, held_reason = null, held_until = null, waiting_for = null
      from due where e.id = due.id returning 1
    )
    select case when exists (select 1 from released) then 0 else least(
      extract(epoch from next_execution_due() - now()),
      (select extract(epoch from min(held_until) - now()) from task_executions where state = 'held')
    ) * 1000 end::float8 as wait`;
  return row?.wait ?? null;
}

/**
 * Counts the reservations of ended attempts as used, and removes the usage of past windows. Any replica calls it from time
 * to time.
 */
export async function reconcileBudgets(sql: Sql): Promise<void> {
  const orphans = await sql<{ id: string; lease: string }[]>`
    with past_usage as (
      delete from budget_usage where scope in (
        select scope from budget_usage where day < now() - interval '2 days' and scope like any(array['issue %', 'author %'])
        order by scope limit 200 for update skip locked)
    ), past_notices as (
      delete from issue_notices where id in (
        select id from issue_notices where due_at is null and hour < now() - interval '1 day' for update skip locked)
    )
    select r.execution_id as id, r.lease from budget_reservations r join task_executions e on e.id = r.execution_id
    where e.state <> 'running' or e.lease is distinct from r.lease order by r.execution_id limit 100`;
  // One transaction for each, because a transaction that locks the usage of several could deadlock with another replica.
  for (const { id, lease } of orphans) await sql`select settle_orphan(${id}, ${lease})`;
}

/** Withdraws an offer if its agent has no stream any more. Returns whether it did. */
export async function withdrawLateOffer(sql: Sql, id: string, agentId: string): Promise<boolean> {
  const { count } = await sql`
    update task_executions set offered_until = now()
    where id = ${id} and state = 'queued' and offered_to = ${agentId} and offered_until > now()
      and not exists (select from agent_streams where agent_id = ${agentId} and expires_at > now())`;
  return count > 0;
}
