import type { Policy } from "@signalbox/schema/policy";
import type { Sql } from "../platform/database/client.ts";

/** Scopes of budgets in which a connected agent has used tokens. */
interface UsageScopes {
  readonly agentId: string;
  readonly projectId: number | null;
  readonly subject: string | null;
}

/**
 * Withdraws executions from an agent if their budget is used up. The next claim holds them, with the reason. `limits`: the limits
 * of the settings.
 */
export async function withdrawOffers(sql: Sql, limits: Policy, { agentId, projectId, subject }: UsageScopes): Promise<void> {
  const settings = JSON.stringify(limits);
  await sql`
    with agent as (select policy from agents where id = ${agentId}),
    project as (select policy from projects where id = ${projectId}),
    used_up as (
      select is_used_up('service', ${settings}::text::jsonb) or coalesce((select is_used_up(${`agent ${agentId}`}, policy) from agent), false) as everything,
        coalesce((select is_used_up(${`project ${projectId}`}, policy) from project), false) as project,
        is_used_up(${`issue ${subject}`}, ${settings}::text::jsonb) or coalesce((select is_used_up(${`issue ${subject}`}, policy) from project), false)
          or coalesce((select is_used_up(${`issue ${subject}`}, policy) from agent), false) as issue
    )
    update task_executions set offered_until = now()
    where id in (
      select x.id from used_up u join task_executions x on u.everything or (u.project and x.project_id = ${projectId})
        or (u.issue and x.subject = ${subject})
      where x.state = 'queued' and x.offered_to = ${agentId} and x.offered_until > now()
      order by x.id for update of x)`;
}

/**
 * Deletes a stream and requeues the tasks that it had leased. If it was the agent's last stream, the agent has `graceSeconds` to connect
 * again; until then, it counts as connected. 0: offers to it end at once.
 */
export async function releaseStream(sql: Sql, streamId: string, agentId: string, graceSeconds: number): Promise<boolean> {
  const released = await sql`
    with departed as (
      insert into agent_departures (agent_id, until)
      select ${agentId}, now() + make_interval(secs => ${graceSeconds})
      where ${graceSeconds > 0} and not exists (
        select from agent_streams where agent_id = ${agentId} and id <> ${streamId} and expires_at > now())
      on conflict (agent_id) do update set until = excluded.until
    )
    update task_executions set state = 'queued', run_after = now(), lease = null, lease_expires_at = null, stream_id = null
    where id in (select id from task_executions where state = 'running' and stream_id = ${streamId} order by id for update)`;
  await sql`delete from agent_streams where id = ${streamId}`;
  const isWithdrawn = graceSeconds === 0 && (await withdrawFromAbsent(sql, agentId));
  return released.count > 0 || isWithdrawn;
}

/** Ends the offers to an agent that has no stream. Returns whether there were any. */
export async function withdrawFromAbsent(sql: Sql, agentId: string): Promise<boolean> {
  const withdrawn = await sql`
    update task_executions set offered_until = now()
    where id in (
      select id from task_executions where state = 'queued' and offered_to = ${agentId} and offered_until > now()
        and not exists (select 1 from agent_streams where agent_id = ${agentId} and expires_at > now())
      order by id for update)`;
  return withdrawn.count > 0;
}
