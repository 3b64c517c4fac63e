import { lockKeys } from "../platform/database/advisory-lock.ts";
import type { Sql } from "../platform/database/client.ts";
import type { ClaimedExecution } from "./queries.ts";

/** The agent that was chosen for an execution. */
interface ChosenAgent {
  readonly id: string;
  /** It is paused, so the execution is queued again, and waits until the agent is resumed. */
  readonly is_paused: boolean;
}

/**
 * Chooses the agent with the most of the required capabilities, and returns `undefined` if none has one. Ties go to agents that are
 * not paused, then to those with the fewest executions that run or wait for a connected agent, then to the least recently used. The
 * choices are made in turn: each counts the executions of the earlier ones.
 */
export const chooseAgent = (
  sql: Sql,
  { id, lease, attempts }: Pick<ClaimedExecution, "id" | "lease" | "attempts">,
  required: readonly string[],
): Promise<ChosenAgent | undefined> =>
  sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${lockKeys.agentChoice})`;
    const [chosen] = await tx<ChosenAgent[]>`
      with able as (
        select agent_id as id, count(*) as score from agent_capabilities where capability = any(${required as string[]}) group by agent_id
      ), busy as (
        select agent_id as id, count(*) as running from task_executions
        where agent_id is not null and id <> ${id} and (state = 'running' or (state = 'queued' and offered_to is not null))
        group by agent_id
      ), chosen as (
        select a.id, p.id is not null as is_paused from agents a join able using (id) left join busy using (id)
        left join pauses p on p.scope = 'agent' and p.id = a.id
        order by able.score desc, is_paused, coalesce(busy.running, 0), a.last_used_at nulls first, a.id
        limit 1
      ), used as (
        update agents set last_used_at = clock_timestamp() where id in (select id from chosen where not is_paused)
      ), assigned as (
        update task_executions e set agent_id = c.id, state = case when c.is_paused then 'queued' else e.state end,
          lease = case when not c.is_paused then e.lease end, lease_expires_at = case when not c.is_paused then e.lease_expires_at end
        from chosen c where e.id = ${id} and e.lease = ${lease}
      )
      select id, is_paused from chosen`;
    if (chosen?.is_paused)
      await tx`
        update execution_history set detail = 'its agent is paused'
        where execution_id = ${id} and event = 'execution.interrupted' and attempts = ${attempts} and detail is null`;
    return chosen;
  });
