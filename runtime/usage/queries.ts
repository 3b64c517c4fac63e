import { lockKeys } from "../platform/database/advisory-lock.ts";
import type { Queryable, Sql } from "../platform/database/client.ts";
import { firstIdOf } from "../platform/ids.ts";
import { bucketSql } from "./durations.ts";

/** A period of at most one day; only executions created in it count. ISO 8601; `to` is exclusive. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

/** Column of each group. */
export const groupColumns = {
  day: "day",
  month: "month",
  project: "project_id",
  agent: "agent_id",
  model: "model",
  task: "task_id",
  source: "source",
} as const;
export type Group = keyof typeof groupColumns;

/** Sums of one group and of one bucket of durations. */
export interface UsageRow {
  readonly bucket: number | null;
  readonly runs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly held: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost_usd: number;
  readonly unpriced_tokens: number;
  readonly tool_calls: number;
  readonly failed_tool_calls: number;
  readonly [column: string]: unknown;
}

/** Ids begin with the time of the replica that created them. The clocks of replicas and database differ by an hour at most. */
const slackMs = 3_600_000;

/** One row for each execution created in the period, and for each step outside of executions. */
const liveRows = (sql: Queryable, { from, to }: Period) => sql`
  select (created_at at time zone 'UTC')::date as day, source, project_id, agent_id, task_id, model,
    case when finished_at is not null and started_at is not null
      then ${sql.unsafe(bucketSql("extract(epoch from finished_at - started_at) * 1000"))} end as bucket,
    1 as runs, (state = 'succeeded')::int as succeeded, (state = 'failed')::int as failed, (state = 'held')::int as held,
    coalesce(now.prompt_tokens, e.prompt_tokens) as prompt_tokens, coalesce(now.completion_tokens, e.completion_tokens) as completion_tokens,
    coalesce(now.cost_usd, e.cost_usd, 0) as cost_usd, coalesce(now.unpriced_tokens, e.unpriced_tokens) as unpriced_tokens,
    coalesce(now.tool_calls, e.tool_calls) as tool_calls, failed_tool_calls,
    (state not in ('succeeded', 'failed', 'cancelled'))::int as open
  from task_executions e
  -- A running execution has no sums until it ends: until then, its steps are read.
  left join lateral (
    select sum(s.prompt_tokens)::bigint as prompt_tokens, sum(s.completion_tokens)::bigint as completion_tokens, sum(s.cost_usd) as cost_usd,
      coalesce(sum(s.prompt_tokens + s.completion_tokens) filter (where s.kind = 'model' and s.cost_usd is null), 0)::bigint as unpriced_tokens,
      count(*) filter (where s.kind = 'tool') as tool_calls
    from execution_steps s where e.state = 'running' and s.execution_id = e.id
  ) now on e.state = 'running'
  where id >= ${firstIdOf(Date.parse(from) - slackMs)}::uuid and id < ${firstIdOf(Date.parse(to) + slackMs)}::uuid
    and created_at >= ${from}::timestamptz and created_at < ${to}::timestamptz
  union all
  select (created_at at time zone 'UTC')::date, null, null, agent_id, null, case when kind = 'model' then name end, null,
    0, 0, 0, 0, prompt_tokens, completion_tokens, coalesce(cost_usd, 0),
    case when kind = 'model' and cost_usd is null then prompt_tokens + completion_tokens else 0 end,
    (kind = 'tool')::int, (kind = 'tool' and state = 'failed')::int, 0
  from execution_steps
  where execution_id is null and created_at >= ${from}::timestamptz and created_at < ${to}::timestamptz`;

const sums = (sql: Queryable) => sql`
  sum(runs)::bigint as runs, sum(succeeded)::bigint as succeeded, sum(failed)::bigint as failed, sum(held)::bigint as held,
  sum(prompt_tokens)::bigint as prompt_tokens, sum(completion_tokens)::bigint as completion_tokens, round(sum(cost_usd)::numeric, 12)::float8 as cost_usd,
  sum(unpriced_tokens)::bigint as unpriced_tokens, sum(tool_calls)::bigint as tool_calls,
  sum(failed_tool_calls)::bigint as failed_tool_calls`;

/** Sums by these groups and by duration. `summedPeriod`: days (`from` to `to`, inclusive) that are read from their sums. */
export function sumUsage(
  sql: Queryable,
  groups: readonly Group[],
  summedPeriod: Period | null,
  periods: readonly Period[],
): Promise<UsageRow[]> {
  const columnOf = (group: Group) =>
    group === "month" ? sql`to_char(day, 'YYYY-MM')` : group === "day" ? sql`day::text` : sql`${sql(groupColumns[group])}`;
  const noFilter = sql``;
  const selectedGroups = groups.reduce((all, group) => sql`${all} ${columnOf(group)} as ${sql(groupColumns[group])},`, noFilter);
  const keys = groups.reduce((all, group) => sql`${all} ${columnOf(group)},`, noFilter);
  const days = summedPeriod
    ? sql`select day, source, project_id, agent_id, task_id, model, bucket, runs, succeeded, failed, held, prompt_tokens, completion_tokens,
        cost_usd, unpriced_tokens, tool_calls, failed_tool_calls, 0 as open
        from usage_days where day between ${summedPeriod.from}::date and ${summedPeriod.to}::date`
    : sql`select null::date as day, null::text as source, null::int as project_id, null::text as agent_id, null::text as task_id,
        null::text as model, null::int as bucket, 0 as runs, 0 as succeeded, 0 as failed, 0 as held, 0 as prompt_tokens, 0 as completion_tokens,
        0::float8 as cost_usd, 0 as unpriced_tokens, 0 as tool_calls, 0 as failed_tool_calls, 0 as open where false`;
  const rest = periods.reduce((all, period) => sql`${all} union all ${liveRows(sql, period)}`, noFilter);
  return sql<UsageRow[]>`
    select ${selectedGroups} bucket, ${sums(sql)} from (${days} ${rest}) r
    group by ${keys} bucket`;
}

/**
 * When the portion of a period ends that begins at its start and contains about `maxRows` executions and steps outside of
 * executions; null if the whole period contains fewer.
 */
export async function endOfPortion(sql: Queryable, { from }: Period, maxRows: number): Promise<string | null> {
  const [row] = await sql<[{ end: string | null }]>`
    select least(
      (select created_at from task_executions where id = (
        select id from task_executions where id >= ${firstIdOf(Date.parse(from))}::uuid order by id offset ${maxRows} limit 1)),
      (select created_at from execution_steps where execution_id is null and created_at >= ${from}::timestamptz
        order by created_at offset ${maxRows} limit 1)) as end`;
  return row.end;
}

/**
 * Unfinished executions by state. `oldest`: the age in seconds of the oldest execution that is due and not paused, among the first
 * 10,000 that are due.
 */
export async function openExecutions(
  sql: Queryable,
): Promise<{ states: { state: string; count: number }[]; oldest: number | null }> {
  const states = await sql<{ state: string; count: number }[]>`
    select state, count(*) as count from task_executions where state in ('queued', 'held', 'running', 'waiting') group by state`;
  const [row] = await sql<[{ oldest: number | null }]>`
    with due as (
      select e.id, e.created_at from task_executions e where e.state = 'queued' and e.run_after <= now() order by e.created_at, e.id
      limit case when exists (select from pauses) then 10000 else 1 end
    )
    select extract(epoch from now() - due.created_at)::float8 as oldest from due
    where not exists (select from pauses where scope = 'all') and (not exists (select from pauses)
      or (select pause_of(e) is null from task_executions e where e.id = due.id))
    order by due.created_at, due.id limit 1`;
  return { states, oldest: row?.oldest ?? null };
}

export async function countOpen(sql: Queryable): Promise<{ running: number; queued: number }> {
  const [row] = await sql<[{ running: number; queued: number }]>`
    select (select count(*) from task_executions where state = 'running') as running,
      (select count(*) from task_executions where state = 'queued') as queued`;
  return row;
}

/** The first and the last day that are summed, without gaps between them; `null` if none is. */
export async function summedDays(sql: Queryable): Promise<Period | null> {
  const [row] = await sql<[{ from: string | null; to: string | null }]>`
    select min(day)::text as from, max(day)::text as to from usage_sums`;
  return row.from === null || row.to === null ? null : { from: row.from, to: row.to };
}

/**
 * The days before today that are not summed, or must be summed again. There are no gaps between summed days. The latest come
 * first, because they are requested most often: after an upgrade, the history of years may be missing.
 */
export async function daysToSum(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ day: string }[]>`
    with first as (
      select least(
        (select (created_at at time zone 'UTC')::date from task_executions order by id limit 1),
        (select (created_at at time zone 'UTC')::date from execution_steps where execution_id is null order by created_at limit 1)) as day
    ), known as (
      select min(day) as since, max(day) as until from usage_sums
    )
    select d::date::text as day from first, known, generate_series(first.day, (now() at time zone 'UTC')::date - 1, interval '1 day') d
    where known.until is null or d > known.until or d < known.since or exists (select 1 from usage_sums s where s.day = d and s.open > 0)
    order by case when d > known.until then d end, d desc`;
  return rows.map(({ day }) => day);
}

/**
 * Sums one day, again if an execution had not ended. Steps outside of executions are summed once: retention removes them, also while
 * an execution of their day is still held. For executions of earlier versions, whose model is not stored yet, reads the model from
 * their steps.
 */
export const sumDay = (sql: Sql, day: string): Promise<void> =>
  sql.begin(async (tx) => {
    const from = `${day}T00:00:00.000Z`;
    const to = new Date(Date.parse(from) + 86_400_000).toISOString();
    await tx`select pg_advisory_xact_lock(${lockKeys.usageDays})`;
    await tx`
      update task_executions e set model = s.model, cost_usd = s.cost_usd, unpriced_tokens = s.unpriced, failed_tool_calls = s.failed
      from (
        select execution_id, min(name) filter (where kind = 'model') as model, round(sum(cost_usd)::numeric, 12)::float8 as cost_usd,
          coalesce(sum(prompt_tokens + completion_tokens) filter (where kind = 'model' and cost_usd is null), 0) as unpriced,
          count(*) filter (where kind = 'tool' and state = 'failed') as failed
        from execution_steps where execution_id in (
          select id from task_executions where id >= ${firstIdOf(Date.parse(from) - slackMs)}::uuid and id < ${firstIdOf(Date.parse(to) + slackMs)}::uuid
            and created_at >= ${from}::timestamptz and created_at < ${to}::timestamptz and model is null and prompt_tokens > 0)
        group by execution_id
      ) s where e.id = s.execution_id and s.model is not null`;
    const isToSum = tx`(runs > 0 or not exists (select 1 from usage_sums where usage_sums.day = ${day}::date))`;
    await tx`delete from usage_days where day = ${day}::date and ${isToSum}`;
    await tx`
      insert into usage_days (day, source, project_id, agent_id, task_id, model, bucket, runs, succeeded, failed, held, prompt_tokens,
        completion_tokens, cost_usd, unpriced_tokens, tool_calls, failed_tool_calls)
      select day, source, project_id, agent_id, task_id, model, bucket, ${sums(tx)} from (${liveRows(tx, { from, to })}) r where ${isToSum}
      group by day, source, project_id, agent_id, task_id, model, bucket`;
    await tx`
      insert into usage_sums (day, open) select ${day}::date, coalesce(sum(open), 0) from (${liveRows(tx, { from, to })}) r
      on conflict (day) do update set open = excluded.open, summed_at = now()`;
  });
