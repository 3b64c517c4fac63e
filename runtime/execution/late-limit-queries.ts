import type { PolicyLevel } from "@signalbox/schema/policy";
import type { Sql } from "../platform/database/client.ts";
import type { ClaimedExecution } from "./queries.ts";

/** What limits are compared with that neither the gate nor the claim could judge. */
interface LimitedUse {
  /** Number of consecutive events on the issue that answer our writes. */
  readonly hops: number;
  readonly is_replay: boolean;
  /** Until when a loop is held, counted from the arrival of its event as at the gate; `null`: no longer. */
  readonly loop_until: string | null;
  /** Budgets that are used up, the one that lasts longest first. */
  readonly exceeded: readonly { readonly member: string; readonly reason: string; readonly until: string }[];
}

export const lateBudgets = ["issue_runs_per_hour", "issue_tokens_per_day", "author_runs_per_hour"] as const;
/** The budgets to compare, with the levels that set them. */
export type LateBudgets = {
  readonly [M in (typeof lateBudgets)[number]]?: { readonly value: number; readonly level: PolicyLevel };
};

/**
 * `subject`: the name of the issue. The runs of this hour include the execution itself if it began in it, those of the issue only if
 * its webhook had named the issue so. See `0046_budgets.sql`.
 */
export async function readLimitedUse(
  sql: Sql,
  { id }: Pick<ClaimedExecution, "id">,
  subject: string | null,
  budgets: LateBudgets,
  cooldownSeconds: number,
): Promise<LimitedUse> {
  const [row] = await sql<[LimitedUse]>`
    with execution as (
      select x.hop, x.created_at + make_interval(secs => ${cooldownSeconds}) as cool_at, e.replay_of is not null as is_replay, case when x.author_standing in ('contributor', 'none') then 'author ' || x.author end as author,
        (x.started_at >= date_trunc('hour', now(), 'UTC'))::int as own, x.subject = ${subject} as is_same
      from task_executions x left join webhook_events e on e.id = x.event_id where x.id = ${id}
    ), used as (
      select m.member, m.used::float8 as used, (b.value ->> 'value')::float8 as value, b.value ->> 'level' as level, m.until
      from execution x left join budget_usage i on i.scope = 'issue ' || ${subject}::text
      left join budget_usage w on w.scope = x.author and w.hour = date_trunc('hour', now(), 'UTC')
      cross join lateral (values
        ('issue_runs_per_hour', case when i.hour = date_trunc('hour', now(), 'UTC') then i.hour_runs - case when x.is_same then x.own else 0 end end,
           date_trunc('hour', now(), 'UTC') + interval '1 hour'),
        ('issue_tokens_per_day', case when i.day = date_trunc('day', now(), 'UTC') then i.day_tokens end,
           date_trunc('day', now(), 'UTC') + interval '1 day'),
        ('author_runs_per_hour', w.hour_runs - x.own, date_trunc('hour', now(), 'UTC') + interval '1 hour')
      ) m (member, used, until)
      join jsonb_each(${JSON.stringify(budgets)}::text::jsonb) b on b.key = m.member
    )
    select coalesce(x.hop, 0) as hops, x.is_replay, case when x.cool_at > now() then x.cool_at end as loop_until, (
      select coalesce(json_agg(json_build_object('member', u.member, 'until', u.until,
        'reason', budget_reason(u.member, u.used, u.value, u.level, u.until)) order by u.until desc), '[]')
      from used u where u.value > 0 and u.used >= u.value
    ) as exceeded from execution x`;
  return row;
}
