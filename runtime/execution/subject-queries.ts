import type { Subject } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { projectSpelling } from "../subject-names/project-spelling.ts";
import { subjectKey } from "../subject-names/subject-key.ts";
import type { ClaimedExecution } from "./queries.ts";

/**
 * Stores, for an event and its executions, the identifiers by which people know their subject. The webhook contained only others.
 * Locks rows in the order of their ids, like every statement that locks several.
 */
export async function renameSubject(
  sql: Sql,
  { event_id, source }: Pick<ClaimedExecution, "event_id" | "source">,
  known: Subject,
): Promise<void> {
  const { project, issue } = known;
  const subject = subjectKey(source, known);
  await sql`
    with event as (
      update webhook_events set subject = ${subject} where id = ${event_id}
    ), fired as (
      select id from task_executions where event_id = ${event_id} order by id for update
    )
    update task_executions e set subject = ${subject}, project = ${project}, issue = ${issue},
      project_id = coalesce(e.project_id, (select p.id from projects p
        where p.source = ${source} and ${projectSpelling(sql, sql`p.source_project_id`)} = ${projectSpelling(sql, sql`${project}::text`)}))
    from fired where e.id = fired.id`;
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
