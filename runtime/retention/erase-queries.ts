import type { Queryable, Sql } from "../platform/database/client.ts";

/** What is erased: exactly one member is set. */
export interface ErasureTarget {
  readonly subject: string | null;
  readonly actor: string | null;
  readonly project_id: number | null;
}

export interface ErasureCounts {
  readonly events: number;
  readonly executions: number;
  readonly cancelled: number;
  readonly steps: number;
}

/** A subject as it is stored, `alpha:acme/webshop#42`, or as people write it: `acme/webshop#42`, `CONF-7`. */
const matches = (sql: Queryable, subject: string) => {
  const key = /^([A-Za-z][A-Za-z0-9_]*)-\d+$/.exec(subject);
  const written = key ? `${key[1]}#${subject}` : subject;
  return sql`(subject = ${subject} or (subject like '%:%' and substr(subject, strpos(subject, ':') + 1) = ${written}))`;
};

const eventsOf = (sql: Queryable, { subject, actor, project_id }: ErasureTarget) =>
  subject !== null
    ? sql`select id from webhook_events where ${matches(sql, subject)}`
    : actor !== null
      ? sql`select id from webhook_events where actor = ${actor} or author ->> 'name' = ${actor} or author ->> 'id' = ${actor}`
      : sql`select e.id from webhook_events e join projects p on p.id = ${project_id}
          where e.source = p.source and e.subject like replace(replace(p.source || ':' || p.source_project_id, '_', '\\_'), '%', '\\%') || '#%'`;

const executionsOf = (sql: Queryable, target: ErasureTarget) =>
  target.project_id === null
    ? sql`select id from task_executions where event_id in (${eventsOf(sql, target)})`
    : sql`select id from task_executions where event_id in (${eventsOf(sql, target)}) or project_id = ${target.project_id}`;

export async function countErasure(sql: Queryable, target: ErasureTarget): Promise<ErasureCounts> {
  const [row] = await sql<[ErasureCounts]>`
    with events as materialized (${eventsOf(sql, target)}), executions as materialized (${executionsOf(sql, target)})
    select (select count(*) from events) as events, (select count(*) from executions) as executions,
      (select count(*) from task_executions where id in (select id from executions) and state not in ('succeeded', 'failed', 'cancelled')) as cancelled,
      (select count(*) from execution_steps where execution_id in (select id from executions)) as steps`;
  return row;
}

/** Cancels the executions of the target that have not ended. Returns their ids. */
export async function cancelForErasure(sql: Sql, target: ErasureTarget): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    update task_executions e set state = 'cancelled', lease = null, lease_expires_at = null, finished_at = now(), error = null
    from (select id from task_executions where id in (${executionsOf(sql, target)}) and state not in ('succeeded', 'failed', 'cancelled')
      order by id for update) open
    where e.id = open.id returning e.id`;
  return rows.map(({ id }) => id);
}

/** Removes what events and executions hold, in one statement: both or neither. */
export async function eraseData(sql: Sql, target: ErasureTarget): Promise<Omit<ErasureCounts, "cancelled">> {
  const [row] = await sql<[Omit<ErasureCounts, "cancelled">]>`
    with events as materialized (${eventsOf(sql, target)}), executions as materialized (${executionsOf(sql, target)}), bodies as (
      update webhook_events set body = '', headers = '{}', author = null, actor = null, body_removed_at = coalesce(body_removed_at, now())
      where id in (select id from events) returning 1
    ), texts as (
      update task_executions set content = '', result = null, error = null, memories = null, transcript_removed_at = coalesce(transcript_removed_at, now())
      where id in (select id from executions) returning 1
    ), steps as (
      delete from execution_steps where execution_id in (select id from executions) returning 1
    ), attempts as (
      update execution_history set detail = null where execution_id in (select id from executions)
    )
    select (select count(*) from bodies) as events, (select count(*) from texts) as executions, (select count(*) from steps) as steps`;
  return row;
}

/** Keys of the memories made by these executions, or about this project. */
export const memoriesOf = (sql: Queryable, target: ErasureTarget): Promise<{ key: string }[]> =>
  sql<{ key: string }[]>`
    select key from memories where task_id in (select id::text from (${executionsOf(sql, target)}) x)
      or project_id = ${target.project_id}::int`;

export async function hasProject(sql: Queryable, id: number): Promise<boolean> {
  return (await sql`select 1 from projects where id = ${id}`).length > 0;
}
