import { asyncCommit } from "../platform/database/async-commit.ts";
import type { Sql } from "../platform/database/client.ts";

interface FoundWorkers {
  readonly holding: string[];
  readonly present: string[];
  /** Whether an execution is running whose lease has expired. */
  readonly expired: boolean;
}

/** The workers that have leases and whose names begin with `prefix`, and those of the sessions with such a name. */
export async function findWorkers(sql: Sql, prefix: string): Promise<FoundWorkers> {
  const [row] = await sql<[FoundWorkers]>`
    select
      array(select distinct split_part(lease, ':', 1) from task_executions where state = 'running' and starts_with(lease, ${prefix})) as holding,
      array(
        select application_name from pg_stat_activity where datname = current_database() and starts_with(application_name, ${prefix})
      ) as present,
      exists(select from task_executions where state = 'running' and lease_expires_at < now()) as expired`;
  return row;
}

/**
 * Renews leases. Returns the ids whose leases this worker still has. Locks rows in the order of their ids, like every statement that
 * locks several.
 */
export async function renewLeases(
  sql: Sql,
  leases: readonly { id: string; lease: string }[],
  leaseSeconds: number,
): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    with leased as (
      select e.id from task_executions e
      join unnest(${leases.map((one) => one.id)}::uuid[], ${leases.map((one) => one.lease)}::text[]) as given (id, lease)
        on given.id = e.id and given.lease = e.lease
      where e.id = any(${leases.map((one) => one.id)}::uuid[]) and e.state = 'running' and ${asyncCommit(sql)} order by e.id for update of e
    )
    update task_executions e set lease_expires_at = now() + make_interval(secs => ${leaseSeconds})
    from leased where e.id = leased.id returning e.id`;
  return new Set(rows.map((row) => row.id));
}

/** Running executions that have lost their worker: those whose lease has expired, those of workers that died, or all. */
type Lost = "expired" | "all" | { readonly workers: readonly string[] };

function isLost(sql: Sql, lost: Lost) {
  if (lost === "all") return sql`true`;
  return lost === "expired" ? sql`lease_expires_at < now()` : sql`split_part(lease, ':', 1) = any(${lost.workers as string[]})`;
}

/**
 * Queues lost executions again. A lease expires if its worker died, or if its connected agent sent no heartbeat; the agent's stream is
 * then closed, so that it gets no further tasks. Also queues executions whose hold has ended.
 *
 * `deaths` counts consecutive crashes without a further step. The plan is no such step, because it is stored at about the time of
 * the first request. From the second crash on, the execution waits before it runs again (2 to 4 s, then twice as long each time). So
 * workers that are killed a few times in quick succession do not fail it, and executions that died together, one of which may be
 * the cause, do not run together again.
 */
export async function releaseLost(sql: Sql, lost: Lost): Promise<number> {
  // For `dead`: the crashes since the last further step.
  const earlier = sql`(case when d.ended = e.death_steps then e.deaths else 0 end)`;
  const result = await sql`
    with lost as (
      select id, stream_id from task_executions where state = 'running' and ${isLost(sql, lost)}
      order by id for update skip locked
    ), closed_streams as (
      delete from agent_streams where ${lost === "all"} or id in (select stream_id from lost)
    ), due as (
      select id from task_executions where state = 'held' and held_until <= now() order by id for update skip locked
    ), released as (
      update task_executions e set state = 'queued', run_after = default, held_reason = null, held_until = null, waiting_for = null
      from due where e.id = due.id
    ), lost_requests as (
      -- A request may have been in flight. Its cost is estimated from the length of its text.
      select add_usage(array['issue ' || e.subject], 0, (octet_length(e.content) + coalesce(octet_length(e.packed_content) * 2, 0)) / 4, 0) from task_executions e join lost using (id)
      where e.subject is not null and e.stream_id is null order by e.subject
    ), dead as (
      select id, (select count(*)::int from execution_steps s where s.execution_id = lost.id and s.state <> 'started' and s.kind <> 'prompt') as ended
      from lost where stream_id is null
    )
    update task_executions e
    set state = 'queued', lease = null, lease_expires_at = null, stream_id = null,
      run_after = date_trunc('milliseconds', now())
        + case when ${earlier} > 0 then make_interval(secs => (1 + random()) * 2 ^ ${earlier}) else interval '0' end,
      deaths = case when d.id is null then e.deaths else ${earlier} + 1 end,
      death_leases = case when d.id is null then e.death_leases when ${earlier} > 0 then e.death_leases || e.lease else array[e.lease] end,
      death_steps = coalesce(d.ended, e.death_steps)
    from lost left join dead d using (id)
    where e.id = lost.id and (select count(*) from lost_requests) >= 0`;
  return result.count;
}

/**
 * When an attempt began, and when another worker noticed its loss, in milliseconds since 1970. `undefined` unless its worker
 * died. The first attempt began when its execution was started. The beginning of a later one is not stored: the time of its first
 * step after the end of the previous attempt is used.
 */
export async function findLostAttempt(
  sql: Sql,
  id: string,
  attempt: number,
): Promise<{ startMs: number; endMs: number } | undefined> {
  const [row] = await sql<{ startMs: number; endMs: number }[]>`
    select extract(epoch from case when ${attempt} = 1 then e.started_at else coalesce(
        (select min(s.started_at) from execution_steps s where s.execution_id = e.id and s.started_at between b.at and h.created_at), b.at
      ) end)::float8 * 1000 as "startMs", extract(epoch from h.created_at)::float8 * 1000 as "endMs"
    from task_executions e
    join execution_history h on h.execution_id = e.id and h.attempts = ${attempt} and h.event = 'execution.interrupted',
    lateral (
      select coalesce(max(p.created_at), e.started_at) as at from execution_history p where p.execution_id = e.id and p.attempts < ${attempt}
    ) b
    where e.id = ${id} and exists (select 1 from unnest(e.death_leases) lease where lease like ${`%:${attempt}`})
    order by h.n desc limit 1`;
  return row;
}

/** A lease that this worker no longer uses. */
interface EndedLease {
  readonly id: string;
  readonly lease: string;
  /** No request that was sent under it can still be under way. */
  readonly clean: boolean;
}

/**
 * Queues executions again if their attempts were interrupted. If another worker has counted the loss of a lease as a crash, the
 * count is reduced, because this worker is alive. `ended` has one entry for each execution.
 */
export async function releaseExecutions(sql: Sql, ended: readonly EndedLease[]): Promise<void> {
  const ids = ended.map(({ id }) => id);
  await sql`
    with given as (
      select * from json_to_recordset(${JSON.stringify(ended)}::text::json) as g (id uuid, lease text, clean boolean)
    ), locked as (
      select e.id, e.lease = g.lease and e.state = 'running' as is_held, g.lease = any(e.death_leases) as is_counted, g.lease, g.clean
      from (select id, lease, state, death_leases from task_executions where id = any(${ids}::uuid[]) order by id for update) e
      join given g on g.id = e.id
    ), closed_steps as (
      update execution_steps s set in_flight_until = null
      from locked l where s.execution_id = l.id and l.is_held and l.clean and s.state = 'started' and s.in_flight_until is not null
    )
    update task_executions e
    set state = case when l.is_held then 'queued' else e.state end,
      run_after = case when l.is_held then date_trunc('milliseconds', now()) else e.run_after end,
      lease = case when l.is_held then null else e.lease end,
      lease_expires_at = case when l.is_held then null else e.lease_expires_at end,
      deaths = e.deaths - case when l.is_counted then 1 else 0 end,
      death_leases = array_remove(e.death_leases, l.lease)
    from locked l where e.id = l.id and (l.is_held or l.is_counted)`;
}
