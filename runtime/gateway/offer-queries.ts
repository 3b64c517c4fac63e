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
