import type { Subject } from "@signalbox/sdk";
import { isUniqueViolation, type Sql } from "../platform/database/client.ts";
import { projectSpelling } from "../subject-names/project-spelling.ts";
import { rememberName } from "../subject-names/queries.ts";
import { isUniqueIssue, subjectKey, unknownProject } from "../subject-names/subject-key.ts";
import type { ClaimedExecution } from "./queries.ts";

/** Maximum number of tries to rename a subject: each fails only if another execution of the issue begins during it. */
const maxTries = 5;

/**
 * Stores, for an event and its executions, the identifiers by which people know their subject. The webhook contained only others.
 * If another execution of the same issue is running or comes first, or the project is paused, this one is queued again, and the result
 * is `null`: the claim could not know. That happens once, because the claim then knows.
 */
export async function renameSubject(sql: Sql, execution: RenamedExecution, known: Subject): Promise<Renamed | null> {
  for (let tries = 1; ; tries++) {
    try {
      return await rename(sql, execution, known);
    } catch (error) {
      if (!isUniqueViolation(error) || tries >= maxTries) throw error;
    }
  }
}

/** What the execution is after its subject was renamed. */
interface Renamed {
  readonly project_id: number | null;
}
type RenamedExecution = Pick<ClaimedExecution, "event_id" | "source" | "slug" | "subject" | "project" | "issue" | "lease">;

/** Locks rows in the order of their ids, like every statement that locks several. */
const rename = (sql: Sql, execution: RenamedExecution, known: Subject): Promise<Renamed | null> =>
  sql.begin(async (tx) => {
    const { event_id, source, lease } = execution;
    const { project, issue } = known;
    const subject = subjectKey(source, known);
    const rows = await tx<(Renamed & { id: string; attempts: number; is_own: boolean; cause: string | null })[]>`
      with place as (
        select p.id from projects p
        where p.source = ${source} and ${projectSpelling(tx, tx`p.source_project_id`)} = ${projectSpelling(tx, tx`${project}::text`)}
      ), event as (
        update webhook_events set subject = ${subject} where id = ${event_id}
      ), fired as (
        select x.id, x.lease is not distinct from ${lease} as is_own, case when x.lease is not distinct from ${lease} and x.state = 'running' and x.subject is distinct from ${subject} then
          case when exists (select from task_executions o where o.subject = ${subject} and o.state = 'running'
              and o.event_id is distinct from ${event_id}) then 'another execution is running on its issue'
            when exists (select from task_executions o where o.subject = ${subject} and o.state = 'queued' and o.run_after <= now()
              and (o.created_at, o.id) < (x.created_at, x.id)) then 'an older execution on its issue comes first'
            when x.project_id is null and exists (select from pauses p where p.scope = 'project' and p.id in (select id::text from place))
              then 'its project is paused' end end as cause
        from task_executions x where x.event_id = ${event_id} order by x.id for update
      )
      update task_executions e set subject = ${subject}, project = ${project}, issue = ${issue},
        state = case when f.cause is null then e.state else 'queued' end, lease = case when f.cause is null then e.lease end,
        lease_expires_at = case when f.cause is null then e.lease_expires_at end,
        project_id = coalesce(e.project_id, (select id from place))
      from fired f where e.id = f.id returning e.id, e.attempts, e.project_id, f.is_own, f.cause`;
    // The claim has counted it under the former name.
    if (execution.subject !== subject) await tx`select add_usage(array[${`issue ${subject}`}], 1, 0, 0)`;
    if (execution.project === unknownProject && execution.issue !== null && !isUniqueIssue(execution.issue))
      await rememberName(tx, execution, execution.issue, known);
    const postponed = rows.find(({ cause }) => cause !== null);
    if (!postponed) return { project_id: rows.find(({ is_own }) => is_own)?.project_id ?? null };
    await tx`
      update execution_history set detail = ${postponed.cause}
      where execution_id = ${postponed.id} and event = 'execution.interrupted' and attempts = ${postponed.attempts} and detail is null`;
    return null;
  });

/** The facts that determine, together with the policy, the standing that the author of an execution's event must have. */
export async function standingRules(
  sql: Sql,
  { event_id, canonical_trigger, task_id }: Pick<ClaimedExecution, "event_id" | "canonical_trigger" | "task_id">,
): Promise<{ readonly is_replay: boolean; readonly min_standing: string | null }> {
  const [row] = await sql<{ is_replay: boolean; min_standing: string | null }[]>`
    select e.replay_of is not null as is_replay, m.conditions ->> 'min_standing' as min_standing
    from webhook_events e left join trigger_mappings m on m.canonical_trigger = ${canonical_trigger} and m.task_id = ${task_id}
    where e.id = ${event_id}`;
  return row ?? { is_replay: false, min_standing: null };
}

/** Stores the standing of the author of an execution's event. Other executions of the event look it up themselves. */
export async function recordStanding(
  sql: Sql,
  { id, event_id }: Pick<ClaimedExecution, "id" | "event_id">,
  standing: string,
): Promise<void> {
  await sql`
    with event as (
      update webhook_events set author = jsonb_set(author, '{standing}', to_jsonb(${standing}::text))
      where id = ${event_id} and author is not null
    )
    update task_executions set author_standing = ${standing} where id = ${id}`;
}
