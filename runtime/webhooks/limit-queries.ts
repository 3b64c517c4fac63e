import type { Policy, PolicyLevel } from "@signalbox/schema/policy";
import type { Queryable } from "../platform/database/client.ts";
import { projectSpelling } from "../subject-names/project-spelling.ts";

/** The issue, project and author whose usage counts against the limits of an event's executions. */
export interface LimitScope {
  readonly source: string;
  readonly subject: string | null;
  /** Project id at its platform. */
  readonly project: string | null;
  /** Key of an author whose runs are limited, for example `alpha:583231`; `null`: no limit. */
  readonly author: string | null;
  readonly agentId: string | null;
  /** When its event happened, ISO 8601; `null` if the platform does not report it. */
  readonly occurredAt: string | null;
}

interface BudgetUse {
  readonly member: string;
  readonly level: PolicyLevel;
  readonly is_used_up: boolean;
  /** Usage and limit, in words. */
  readonly reason: string;
}

/** Each budget that a level sets, with its usage in the current window. `0046_budgets.sql` defines what counts for each scope. */
export const readBudgets = (sql: Queryable, settings: Policy, scope: LimitScope): Promise<BudgetUse[]> =>
  sql<BudgetUse[]>`
    with levels as (
      select 1 as n, 'settings' as level, 'service' as scope, ${JSON.stringify(settings)}::text::jsonb as policy
      union all select 2, 'project', 'project ' || id, policy from projects
        where ${isScopesProject(sql, scope)}
      union all select 3, 'agent', 'agent ' || id, policy from agents where id = ${scope.agentId}
    ), budgets as (
      select l.n, l.level, m.member, (l.policy ->> m.member)::float8 as value, m.until,
        case when m.member like 'issue%' then ${scope.subject === null ? null : `issue ${scope.subject}`}::text
          when m.member like 'author%' then ${scope.author === null ? null : `author ${scope.author}`}::text else l.scope end as scope
      from levels l cross join (values
        ('issue_runs_per_hour', date_trunc('hour', now(), 'UTC') + interval '1 hour'),
        ('author_runs_per_hour', date_trunc('hour', now(), 'UTC') + interval '1 hour'),
        ('issue_tokens_per_day', date_trunc('day', now(), 'UTC') + interval '1 day'),
        ('day_tokens', date_trunc('day', now(), 'UTC') + interval '1 day'),
        ('day_usd', date_trunc('day', now(), 'UTC') + interval '1 day'),
        ('month_usd', (date_trunc('month', now() at time zone 'UTC') + interval '1 month') at time zone 'UTC')
      ) as m (member, until)
      where (l.policy ->> m.member)::float8 > 0
    ), used as (
      select b.*, coalesce(case
        when b.member like '%hour' then case when u.hour = date_trunc('hour', now(), 'UTC') then u.hour_runs end
        when b.member = 'month_usd' then case when u.month = date_trunc('month', now(), 'UTC') then u.month_usd end
        when u.day = date_trunc('day', now(), 'UTC') then case when b.member = 'day_usd' then u.day_usd else u.day_tokens end
        end, 0)::float8 as used
      from budgets b left join budget_usage u on u.scope = b.scope where b.scope is not null
    )
    select member, level, used >= value as is_used_up, budget_reason(member, used, value, level, until) as reason
    from used order by member, n`;

const isScopesProject = (sql: Queryable, { source, project }: LimitScope) =>
  sql`source = ${source} and ${projectSpelling(sql, sql`source_project_id`)} = ${projectSpelling(sql, sql`${project}::text`)}`;

/** The pauses that apply to this work. */
export const readPauses = (sql: Queryable, scope: LimitScope): Promise<{ scope: string; id: string; reason: string }[]> =>
  sql<{ scope: string; id: string; reason: string }[]>`
    select scope, id, reason from pauses
    where scope = 'all' or (scope = 'source' and id = ${scope.source}) or (scope = 'agent' and id = ${scope.agentId})
      or (scope = 'project' and id in (
        select id::text from projects where ${isScopesProject(sql, scope)}))
    order by scope, id`;

/** Number of consecutive events on the subject that answer our writes, including the next one. See `count_hops`. */
export async function readHops(sql: Queryable, { subject, occurredAt }: LimitScope, windowSeconds: number): Promise<number> {
  const [row] = await sql<{ hops: number }[]>`
    with recent as (select now() - make_interval(secs => ${windowSeconds}) as at), write as (
      select o.at from own_writes o, recent
      where o.subject = ${subject} and o.kind <> 'sign' and (greatest(o.at, o.done_at) > recent.at
        or ${occurredAt}::timestamptz between o.at - interval '2 seconds'
          and greatest(o.at, o.done_at) + make_interval(secs => ${windowSeconds}))
      order by o.at desc limit 1
    )
    select case when w.at is not null then coalesce(h.hops, 0) + (w.at > coalesce(h.event_at, '-infinity'))::int
      when h.event_at < recent.at then 0 else coalesce(h.hops, 0) end as hops
    from recent left join write w on true left join subject_hops h on h.subject = ${subject}`;
  return row?.hops ?? 0;
}
