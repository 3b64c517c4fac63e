import type { Subject } from "@signalbox/sdk";
import { isUniqueViolation, type Sql } from "../platform/database/client.ts";
import { projectSpelling } from "../subject-names/project-spelling.ts";
import { subjectKey } from "../subject-names/subject-key.ts";
import type { ClaimedExecution } from "./queries.ts";

/** Maximum number of tries to rename a subject: each fails only if another execution of the issue begins during it. */
const maxTries = 5;

/**
 * Stores, for an event and its executions, the identifiers by which people know their subject. The webhook contained only others.
 * If another execution of the same issue is running, this one is queued again, and the result is `false`: one runs at a time.
 */
export async function renameSubject(sql: Sql, execution: RenamedExecution, known: Subject): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return await rename(sql, execution, known);
    } catch (error) {
      if (!isUniqueViolation(error) || tries >= maxTries) throw error;
    }
  }
}

type RenamedExecution = Pick<ClaimedExecution, "event_id" | "source" | "lease">;

/** Locks rows in the order of their ids, like every statement that locks several. */
async function rename(sql: Sql, { event_id, source, lease }: RenamedExecution, known: Subject): Promise<boolean> {
  const { project, issue } = known;
  const subject = subjectKey(source, known);
  const rows = await sql<{ is_queued: boolean }[]>`
    with busy as (
      select from task_executions where subject = ${subject} and state = 'running' and event_id is distinct from ${event_id} limit 1
    ), event as (
      update webhook_events set subject = ${subject} where id = ${event_id}
    ), fired as (
      select id, lease is not distinct from ${lease} and state = 'running' and exists (select from busy) as is_queued
      from task_executions where event_id = ${event_id} order by id for update
    )
    update task_executions e set subject = ${subject}, project = ${project}, issue = ${issue},
      state = case when f.is_queued then 'queued' else e.state end, lease = case when f.is_queued then null else e.lease end,
      lease_expires_at = case when f.is_queued then null else e.lease_expires_at end,
      project_id = coalesce(e.project_id, (select p.id from projects p
        where p.source = ${source} and ${projectSpelling(sql, sql`p.source_project_id`)} = ${projectSpelling(sql, sql`${project}::text`)}))
    from fired f where e.id = f.id returning f.is_queued`;
  return !rows.some((row) => row.is_queued);
}

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
