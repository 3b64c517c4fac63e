import type { Queryable, Sql } from "../platform/database/client.ts";

/** A model or a connection that failed for all executions. See `0090_breakers.sql`. */
export interface Breaker {
  /** `model`, or `connection <source> <id>`. */
  readonly key: string;
  readonly name: string;
  readonly effect: "read" | "write";
  readonly reason: string;
  readonly opened_at: string;
  /** When the next probe is due. */
  readonly next_probe_at: string;
}

const members = (sql: Queryable) => sql`key, name, effect, reason, opened_at, next_probe_at`;

export const listBreakers = (sql: Queryable): Promise<Breaker[]> =>
  sql<Breaker[]>`select ${members(sql)} from breakers order by opened_at, key limit 1000`;

/** Maximum time between two probes, in seconds. */
const maxProbeSeconds = 300;
const minProbeSeconds = 0.2;

/** When the next probe may start, after this number of consecutive failures. */
const afterFailures = (sql: Queryable, failures: ReturnType<Queryable>, baseSeconds: number) =>
  sql`now() + make_interval(secs => least(${maxProbeSeconds}, greatest(${minProbeSeconds}, ${baseSeconds}::float8) * 2 ^ least(${failures}, 12)))`;

interface Outage {
  readonly key: string;
  readonly name: string;
  readonly effect: "read" | "write";
  readonly reason: string;
  /** The execution that failed. */
  readonly execution: string;
  /** The wait that the server requested, in seconds; 0 if it requested none. */
  readonly asked_seconds: number;
}

/** A breaker after a failure. */
interface OpenedBreaker extends Breaker {
  readonly is_new: boolean;
  /** Whether the watchdog gets an entry: the breaker is new, or its last entry is old. */
  readonly is_reported: boolean;
  readonly open_seconds: number;
}

/** Time between two watchdog entries about one outage. */
const reportEvery = "1 hour";

/**
 * Opens a breaker. If it is already open, only a failure of its probe changes it and postpones the next probe. No execution tries
 * before the end of the wait that the server requested.
 */
export async function openBreaker(
  sql: Sql,
  { execution, asked_seconds, ...outage }: Outage,
  baseSeconds: number,
): Promise<OpenedBreaker> {
  const retryAt = sql`now() + make_interval(secs => ${asked_seconds}::float8)`;
  const [row] = await sql<[OpenedBreaker]>`
    insert into breakers as b (key, name, effect, reason, next_probe_at)
    values (${outage.key}, ${outage.name}, ${outage.effect}, ${outage.reason}, greatest(${afterFailures(sql, sql`0`, baseSeconds)}, ${retryAt}))
    on conflict (key) do update set
      reason = case when b.probe = ${execution} then excluded.reason else b.reason end,
      failures = b.failures + case when b.probe = ${execution} then 1 else 0 end,
      next_probe_at = greatest(${retryAt}, case when b.probe = ${execution} then ${afterFailures(sql, sql`b.failures`, baseSeconds)} else b.next_probe_at end),
      reported_at = case when b.reported_at < now() - ${reportEvery}::interval then now() else b.reported_at end,
      probe = nullif(b.probe, ${execution})
    returning ${members(sql)}, xmax = 0 as is_new, reported_at = now()::timestamptz(3) as is_reported,
      extract(epoch from now() - opened_at)::float8 as open_seconds`;
  return row;
}

/** Makes an execution the probe of a breaker if a probe is due. Returns the breaker after that; `undefined` if it is closed. */
export async function tryAsProbe(
  sql: Sql,
  key: string,
  execution: string,
  baseSeconds: number,
): Promise<(Breaker & { is_probe: boolean }) | undefined> {
  const [row] = await sql<(Breaker & { is_probe: boolean })[]>`
    with taken as (
      update breakers b set probe = ${execution}, next_probe_at = ${afterFailures(sql, sql`b.failures`, baseSeconds)}
      where key = ${key} and next_probe_at <= now() and ${isFree(sql)} returning key
    )
    select ${members(sql)}, exists (select from taken) or probe is not distinct from ${execution} as is_probe from breakers where key = ${key}`;
  return row;
}

/** The breaker `b` has no running probe. */
const isFree = (sql: Queryable) => sql`not exists (select from task_executions p where p.id = b.probe and p.state = 'running')`;

/**
 * Lets one execution pass each breaker whose next probe is due. Of the oldest thousand that wait for a breaker, it chooses the
 * one with the fewest attempts, so that an execution that always fails does not block the others. Returns whether there was one,
 * and the milliseconds until the next probe is due.
 */
export async function admitProbes(sql: Sql, baseSeconds: number): Promise<{ admitted: boolean; wait: number | null }> {
  const [row] = await sql<[{ admitted: boolean; wait: number | null }]>`
    with due as (
      select key from breakers b where next_probe_at <= now() and ${isFree(sql)} order by key for update skip locked
    ), chosen as (
      select due.key, first.id from due cross join lateral (
        select id from (
          select x.id, x.attempts, x.created_at from task_executions x
          where x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
            and need_of(x) = due.key and (not exists (select from agent_streams) or blocking_key(x) = due.key) and (not exists (select from pauses) or pause_of(x) is null)
            and not exists (select from task_executions r where r.subject = x.subject and r.state = 'running')
          order by x.created_at, x.id limit 1000) oldest
        order by attempts, created_at, id limit 1) first
    ), admitted as (
      update breakers b set probe = c.id, next_probe_at = ${afterFailures(sql, sql`b.failures`, baseSeconds)}
      from chosen c where b.key = c.key returning b.key
    )
    select exists (select from admitted) as admitted,
      (select (extract(epoch from min(next_probe_at) - now()) * 1000)::float8 from breakers where next_probe_at > now()) as wait`;
  return row;
}

/** The closed breaker, and the number of executions that waited for it and are queued again. `undefined` if it was not open. */
export async function closeBreaker(sql: Sql, key: string): Promise<(Breaker & { released: number }) | undefined> {
  const [row] = await sql<(Breaker & { released: number })[]>`
    with closed as (delete from breakers where key = ${key} returning ${members(sql)}),
    due as (
      select e.id from task_executions e where e.state = 'held' and e.blocked_by in (select key from closed)
        and e.waiting_for in (select name from closed) order by e.id for update of e
    ), released as (
      update task_executions e set state = 'queued', run_after = default, held_reason = null, held_until = null, waiting_for = null
      from due where e.id = due.id returning 1
    )
    select *, (select count(*)::int from released) as released from closed`;
  return row;
}

/** Makes every breaker due for a probe: the operator who starts the service may have fixed the cause. */
export const probeSoon = (sql: Sql): Promise<unknown> =>
  sql`update breakers set next_probe_at = now() where next_probe_at > now()`;
