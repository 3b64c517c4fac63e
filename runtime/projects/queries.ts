import type { Input, Output } from "@signalbox/schema/operation";
import type { create, getWorkflowContext, update } from "@signalbox/schema/projects";
import { databaseInstant } from "../platform/clock.ts";
import type { Queryable, Sql } from "../platform/database/client.ts";
import { releaseByOperator } from "../policy/standing.ts";

export type WorkflowContext = Output<typeof getWorkflowContext>;
export type Project = Output<typeof create>;
type TriggerTasks = { canonical_trigger: string; task_ids: string[] };

const columns = (sql: Queryable) => sql`id, name, description, source, source_project_id, policy, created_at, updated_at`;

export async function listProjects(
  sql: Queryable,
  page: { limit: number; offset: number },
): Promise<{ items: Project[]; total: number }> {
  const items = await sql<Project[]>`
    select ${columns(sql)} from projects order by id limit ${page.limit} offset ${page.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from projects`;
  return { items, total: count.total };
}

export async function findProject(sql: Queryable, id: number): Promise<Project | undefined> {
  const [project] = await sql<Project[]>`select ${columns(sql)} from projects where id = ${id}`;
  return project;
}

/** Returns `undefined` if the source already has a project with this id. */
export async function insertProject(sql: Queryable, project: Input<typeof create>): Promise<Project | undefined> {
  const [row] = await sql<Project[]>`
    insert into projects ${sql(project)} on conflict do nothing returning ${columns(sql)}`;
  return row;
}

/** Throws a unique violation if the source already has a project with this id. */
export async function updateProject(
  sql: Queryable,
  id: number,
  change: Omit<Input<typeof update>, "id">,
): Promise<Project | undefined> {
  const [row] = await sql<Project[]>`
    update projects set ${sql({ ...change, updated_at: databaseInstant() })} where id = ${id} returning ${columns(sql)}`;
  return row;
}

/**
 * Also ends its pause, which would have no effect but remain in the status. The executions that the pause kept from starting are
 * held, because an operator stopped them: an operator can release or cancel them. Those that run end their attempt, and are held if
 * it does not finish them. Locks the project first, so that no webhook stores an execution of it meanwhile.
 */
export async function deleteProject(sql: Sql, id: number): Promise<boolean> {
  return sql.begin(async (transaction) => {
    await transaction`select 1 from projects where id = ${id} for update`;
    // All that may change, in the order in which others lock them.
    await transaction`
      select 1 from task_executions where project_id = ${id} and state not in ('succeeded', 'failed', 'cancelled')
      order by id for update`;
    await transaction`
      with ended as (delete from pauses where scope = 'project' and id = ${String(id)} returning reason),
      stopped as (
        select e.id, 'project ' || ${String(id)} || ' was paused when it was deleted: ' || ended.reason as why
        from task_executions e, ended
        where e.project_id = ${id} and (e.state in ('queued', 'running')
          or (e.state = 'held' and (e.held_until is not null or e.blocked_by is not null)))
      )
      update task_executions e set
        state = case when e.state = 'running' then e.state else 'held' end,
        hold_on_retry = case when e.state = 'running' then s.why end,
        held_reason = case when e.state = 'running' then e.held_reason else s.why end,
        waiting_for = case when e.state = 'running' then e.waiting_for else ${releaseByOperator} end,
        held_until = null
      from stopped s where e.id = s.id`;
    return (await transaction`delete from projects where id = ${id} returning id`).length > 0;
  });
}

/** The triggers of a source, each with its existing tasks in the order of their mappings. */
export const listTriggersOf = (sql: Queryable, source: string): Promise<TriggerTasks[]> =>
  sql<TriggerTasks[]>`
    select m.canonical_trigger, array(
      select t.id from trigger_mappings x join tasks t on t.id = x.task_id
      where x.canonical_trigger = m.canonical_trigger order by x.id) as task_ids
    from (
      select canonical_trigger, min(place) as first from (
        select canonical_trigger, array[0, id] as place from source_mappings where source = ${source}
        union all
        select canonical_trigger, array[1, id] from webhook_mappings where source = ${source} and canonical_trigger is not null) both_kinds
      group by 1) m
    order by m.first`;

/** Agents with one of these ids or one of these capabilities. */
export const listAgentIds = (
  sql: Queryable,
  ids: readonly string[],
  capabilities: readonly string[],
): Promise<{ id: string }[]> =>
  sql<{ id: string }[]>`
    select a.id from agents a
    where a.id = any(${ids as string[]})
      or exists (select 1 from agent_capabilities c where c.agent_id = a.id and c.capability = any(${capabilities as string[]}))
    order by a.created_at, a.id`;
