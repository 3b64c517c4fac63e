import type { Sql } from "../platform/database/client.ts";
import type { Claimed } from "./queries.ts";

/**
 * Gives an event and its executions the identifiers that people know their subject by. They came with others, which the webhook
 * has alone. Rows are locked in the order of their ids, as every statement does that locks several.
 */
export async function renameSubject(
  sql: Sql,
  { event_id, source }: Pick<Claimed, "event_id" | "source">,
  { project, issue }: { readonly project: string; readonly issue: string },
): Promise<string> {
  const subject = `${source}:${project}#${issue}`;
  await sql`
    with event as (
      update webhook_events set subject = ${subject} where id = ${event_id}
    ), fired as (
      select id from task_executions where event_id = ${event_id} order by id for update
    )
    update task_executions e set subject = ${subject}, project = ${project}, issue = ${issue},
      project_id = coalesce(e.project_id, (select p.id from projects p where p.source = ${source} and p.source_project_id = ${project}))
    from fired where e.id = fired.id`;
  return subject;
}
