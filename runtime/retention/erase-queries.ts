import type { Queryable, Sql } from "../platform/database/client.ts";
import { retryOnDeadlock } from "../platform/database/retry-on-deadlock.ts";
import { projectSpelling, spellProject } from "../subject-names/project-spelling.ts";
import { setSumsOfSteps } from "../transcripts/sum-queries.ts";

/** The target of an erasure: exactly one member is set. */
export interface ErasureTarget {
  /** Stored subjects that the given text may mean. */
  readonly subjects: readonly string[] | null;
  readonly actor: string | null;
  readonly project_id: number | null;
  /** Ids of events that no plugin has parsed, whose payload contains the target. See `unparsed.ts`. */
  readonly unparsed: readonly string[];
}

interface ErasureCounts {
  readonly events: number;
  readonly executions: number;
  readonly cancelled: number;
  readonly steps: number;
}

const eventsOf = (sql: Queryable, target: ErasureTarget) =>
  sql`${parsedEventsOf(sql, target)} union select id from webhook_events where id = any(${target.unparsed as string[]}::uuid[])`;

const parsedEventsOf = (sql: Queryable, { subjects, actor, project_id }: ErasureTarget) =>
  subjects !== null
    ? sql`select id from webhook_events where subject = any(${subjects as string[]}::text[])`
    : actor !== null
      ? sql`select id from webhook_events where lower(${actor}) in (lower(actor), lower(author ->> 'name'), lower(author ->> 'id'))`
      : sql`select e.id from webhook_events e join projects p on p.id = ${project_id}
          where e.source = p.source and starts_with(${projectSpelling(sql, sql`e.subject`)},
            p.source || ':' || ${projectSpelling(sql, sql`p.source_project_id`)} || '#')`;

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

/** Cancels the target's executions that have not ended, and stores their ids for `listCancelled`. */
export async function cancelForErasure(sql: Sql, target: ErasureTarget): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    with cancelled as (
      update task_executions e set state = 'cancelled', lease = null, lease_expires_at = null, finished_at = now(), error = null,
        ${setSumsOfSteps(sql)}
      from (select id from task_executions where id in (${executionsOf(sql, target)}) and state not in ('succeeded', 'failed', 'cancelled')
        order by id for update) open
      where e.id = open.id returning e.id
    ), stored as (
      insert into cancelled_for_erasure (execution_id) select id from cancelled on conflict (execution_id) do update set cancelled_at = now()
    )
    select id from cancelled`;
  return rows.map(({ id }) => id);
}

/** The executions that erasures cancelled: this one, those in progress, and interrupted ones of the last day. */
export async function listCancelled(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ execution_id: string }[]>`select execution_id from cancelled_for_erasure order by execution_id`;
  return rows.map(({ execution_id }) => execution_id);
}

/**
 * Call it once the memories of all executions of `listCancelled` are removed. Forgets those that this erasure cancelled (`own`), and
 * those of other erasures after a day, because they may still be in progress or be repeated.
 */
export const forgetCancelled = (sql: Queryable, own: readonly string[]) => sql`
  delete from cancelled_for_erasure
  where execution_id = any(${own as string[]}::uuid[]) or cancelled_at < now() - interval '1 day'`;

/** Number of events, or of executions without such an event, whose content one statement removes. */
const portion = 500;

/**
 * Removes the content of events and executions in portions, each in one statement: an event with its executions, or neither. After a
 * failure, the erasure can be repeated, because the events that are left still name their author.
 */
export async function eraseData(sql: Sql, target: ErasureTarget): Promise<Omit<ErasureCounts, "cancelled">> {
  // Those of one issue follow each other, because a portion reads all executions of its issues.
  const rows = await sql<{ id: string }[]>`
    select id from webhook_events where id in (${eventsOf(sql, target)}) order by subject, id`;
  const events = rows.map(({ id }) => id);
  const others = target.project_id === null ? [] : await listOthers(sql, target.project_id, events);
  const counts = { events: 0, executions: 0, steps: 0 };
  const add = (more: typeof counts) => {
    for (const name of ["events", "executions", "steps"] as const) counts[name] += more[name];
  };
  const erase = async (eventIds: readonly string[], executionIds: readonly string[]) =>
    add(await retryOnDeadlock(() => erasePortion(sql, eventIds, executionIds)));
  for (let at = 0; at < events.length; at += portion) await erase(events.slice(at, at + portion), []);
  for (let at = 0; at < others.length; at += portion) await erase([], others.slice(at, at + portion));
  return counts;
}

/** Executions of a project whose events are not among these. */
async function listOthers(sql: Sql, project: number, events: readonly string[]): Promise<string[]> {
  const known = new Set(events);
  const rows = await sql<{ id: string; event_id: string }[]>`
    select id, event_id from task_executions where project_id = ${project} order by id`;
  return rows.filter(({ event_id }) => !known.has(event_id)).map(({ id }) => id);
}

/**
 * Removes the content of these events with their executions, and of these executions. A reason of an event is removed if it names the
 * author, or if its command waits; the command is removed, too. The names of people whose commands are erased are also removed from what they stopped, approved or rejected: both are joined by
 * the names, because an issue may have many people and many executions.
 */
async function erasePortion(
  sql: Sql,
  eventIds: readonly string[],
  executionIds: readonly string[],
): Promise<Omit<ErasureCounts, "cancelled">> {
  const [row] = await sql<[Omit<ErasureCounts, "cancelled">]>`
    with executions as materialized (
      select id from task_executions where event_id = any(${eventIds as string[]}::uuid[]) or id = any(${executionIds as string[]}::uuid[])
    ), people as materialized (
      select distinct subject, source || ':' || coalesce(author ->> 'name', actor) as name, source || ':someone' as other
      from webhook_events where id = any(${eventIds as string[]}::uuid[]) and coalesce(author ->> 'name', actor) <> '' and subject is not null
    ), texts as materialized (
      select x.id, x.subject, x.reason, x.error, named.name from task_executions x, lateral (
        ${namesIn(sql, "x.reason", "stopped by ", " (event ", 1)} union ${namesIn(sql, "x.reason", "Rejected by ", ": ", 0)}
        union ${namesIn(sql, "x.error", "Rejected by ", ": ", 0)}) named
      where x.subject in (select subject from people) and coalesce(x.reason, x.error) is not null and ${isOneOf(sql, "named.name")}
    ), decided as materialized (
      select s.id, s.decided_by, s.error, x.subject from task_executions x join execution_steps s on s.execution_id = x.id
      where x.subject in (select subject from people) and ${isOneOf(sql, "s.decided_by")} and x.id not in (select id from executions)
    ), named as materialized (
      select x.id, coalesce(min(${withoutName(sql, "x.reason")}), x.reason) as reason, coalesce(min(${withoutName(sql, "x.error")}), x.error) as error
      from people p join texts x on x.subject = p.subject and x.name = p.name
      where ${isNamedIn(sql, "x.reason")} or ${isNamedIn(sql, "x.error")} group by x.id, x.reason, x.error
    ), bodies as (
      update webhook_events e set body = '', headers = '{}', title = null, author = null, actor = null, body_removed_at = coalesce(body_removed_at, now()),
        reason = (select e.reason where not exists (select from pending_commands p where p.event_id = e.id) and not exists (
          select from unnest(array[e.actor, e.author ->> 'name', e.author ->> 'id']) who where strpos(e.reason, nullif(who, '')) > 0))
      where id = any(${eventIds as string[]}::uuid[]) returning 1
    ), erased as (
      update task_executions e set content = '', packed_content = null, changes = '{}', author = null, overrides = null, result = null, packed_result = null, answer_step = null, error = null, memories = null,
        held_reason = null, reason = coalesce(own.reason, e.reason), transcript_removed_at = coalesce(transcript_removed_at, now())
      from (select id, null as reason from executions where id not in (select id from named)
        union all select id, reason from named where id in (select id from executions)) own
      where e.id = own.id returning 1
    ), others as (
      update task_executions e set reason = named.reason, error = named.error from named
      where e.id = named.id and e.id not in (select id from executions)
    ), decisions as (
      update execution_steps s set decided_by = p.other, error = case when ${isNamedIn(sql, "s.error")} then 'Rejected by ' || p.other else s.error end
      from people p join decided d on d.subject = p.subject and d.decided_by = p.name where s.id = d.id
    ), steps as (
      delete from execution_steps where execution_id in (select id from executions) returning 1
    ), commands as (
      delete from pending_commands where event_id = any(${eventIds as string[]}::uuid[])
    ), attempts as (
      update execution_history set detail = null where execution_id in (select id from executions)
    )
    select (select count(*) from bodies) as events, (select count(*) from erased) as executions, (select count(*) from steps) as steps`;
  return row;
}

/** Whether it is the name of one of the people. Written in this way, the database hashes the names, whatever its estimates. */
const isOneOf = (sql: Queryable, name: string) => sql`(${sql.unsafe(name)} in (select name from people)) is true`;

/**
 * The names that a text may contain: what follows `before`, up to each `after`. `atLeast`: how many `after` must follow. A name may
 * itself contain `after`.
 */
const namesIn = (sql: Queryable, column: string, before: string, after: string, atLeast: 0 | 1) => sql`
  select array_to_string(parts[1:n], ${after}) as name
  from (select string_to_array(substr(${sql.unsafe(column)}, ${before.length + 1}), ${after}) as parts where starts_with(${sql.unsafe(column)}, ${before})) s,
    generate_series(1, cardinality(parts) - ${atLeast}) n`;

/** Whether a reason or an error says that the person `p` stopped or rejected an execution. */
const isNamedIn = (sql: Queryable, column: string) =>
  sql`(starts_with(${sql.unsafe(column)}, 'stopped by ' || p.name || ' (event ')
    or ${sql.unsafe(column)} = 'Rejected by ' || p.name or starts_with(${sql.unsafe(column)}, 'Rejected by ' || p.name || ': '))`;

/** The same text without the name of the person `p` and what they wrote; null if it does not name them. */
const withoutName = (sql: Queryable, column: string) =>
  sql`case when ${isNamedIn(sql, column)} then case when starts_with(${sql.unsafe(column)}, 'stopped')
    then replace(${sql.unsafe(column)}, p.name, p.other) else 'Rejected by ' || p.other end end`;

export async function executionIdsOf(sql: Queryable, target: ErasureTarget): Promise<string[]> {
  return (await sql<{ id: string }[]>`${executionsOf(sql, target)}`).map(({ id }) => id);
}

/** The sources of stored and deferred webhooks, including those whose plugin or mapping was removed. */
export async function sourcesOfEvents(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ source: string }[]>`select source from webhook_events union select source from unread_webhooks`;
  return rows.map(({ source }) => source);
}

/** The subjects that have events and differ from the given ones at most in case. Reads all events. */
export async function findStored(sql: Queryable, subjects: readonly string[]): Promise<string[]> {
  const rows = await sql<{ subject: string }[]>`
    select distinct subject from webhook_events
    where ${projectSpelling(sql, sql`subject`)} = any(${subjects.map(spellProject)}::text[]) order by subject`;
  return rows.map(({ subject }) => subject);
}

export async function findSourceProject(
  sql: Queryable,
  id: number,
): Promise<{ readonly source: string; readonly source_project_id: string } | undefined> {
  const [project] = await sql<{ source: string; source_project_id: string }[]>`
    select source, source_project_id from projects where id = ${id}`;
  return project;
}
