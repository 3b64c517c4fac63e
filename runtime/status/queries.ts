import type { Output } from "@signalbox/schema/operation";
import type { get } from "@signalbox/schema/status";
import { asyncCommit } from "../platform/database/async-commit.ts";
import type { Queryable } from "../platform/database/client.ts";
import type { Fingerprints } from "../platform/fingerprints.ts";

type Status = Output<typeof get>;
type QueueStatus = NonNullable<Status["queue"]>;
type Replica = Status["replicas"][number];

export async function readQueue(sql: Queryable): Promise<QueueStatus> {
  const [row] = await sql<[QueueStatus]>`
    with open as (
      select count(*) filter (where state = 'queued') as queued, count(*) filter (where state = 'running') as running,
        count(*) filter (where state = 'held') as held, count(*) filter (where state = 'waiting') as waiting
      from task_executions where state <> 'succeeded' and state in ('queued', 'running', 'held', 'waiting')
    ), recent as (
      select started_at - created_at as wait from (select created_at, started_at from task_executions order by id desc limit 500) newest
      where started_at > now() - interval '1 hour'
    )
    select open.*,
      (select count(*) from task_executions where state = 'failed' and finished_at >= now() - interval '1 hour') as failed_last_hour,
      (select extract(epoch from now() - created_at)::int from task_executions where state = 'queued' order by created_at, id limit 1)
        as oldest_queued_seconds,
      (select (percentile_cont(0.5) within group (order by extract(epoch from wait)) * 1000)::bigint from recent) as p50_wait_ms
    from open`;
  return row;
}

/**
 * The replicas that sent a heartbeat within the last 30 seconds, and those that have been silent for at most `silentSeconds` without
 * having stopped. One that was killed and started again on its host is listed once: a replica that starts removes those whose process
 * has ended. Where it cannot tell, it replaces one with its role that has become silent before.
 */
export const listReplicas = (sql: Queryable, own: string | null, silentSeconds: number): Promise<Replica[]> =>
  sql<Replica[]>`
    select id, host, role, version, running, started_at, seen_at, (id = ${own}) is true as this,
      case when seen_at <= now() - interval '30 seconds' then extract(epoch from now() - seen_at)::int end as silent_seconds
    from replicas r where seen_at > now() - greatest(30, ${silentSeconds}::int) * interval '1 second'
      and (seen_at > now() - interval '30 seconds'
        or not exists (select from replicas n where n.host = r.host and n.role = r.role and n.started_at > r.seen_at
          and (split_part(n.process, ' ', 1) = split_part(r.process, ' ', 1)) is not true))
    order by started_at, id`;

/** The number of replicas that run executions and have sent a heartbeat within the last 30 seconds. */
export async function countWorkers(sql: Queryable): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*) as count from replicas where seen_at > now() - interval '30 seconds' and role <> 'api'`;
  return row.count;
}

/** The external agents with an open stream on any replica. */
export const listConnectedAgents = (sql: Queryable): Promise<Status["agents"]> =>
  sql<Status["agents"]>`
    select s.agent_id, count(*) as streams, coalesce(sum(e.running), 0)::int as running
    from agent_streams s left join lateral (
      select count(*) as running from task_executions e where e.stream_id = s.id and e.state = 'running'
    ) e on true
    where s.expires_at > now() group by s.agent_id order by s.agent_id limit 1000`;

export interface OwnReplica extends Omit<Replica, "started_at" | "seen_at" | "silent_seconds" | "this"> {
  readonly settings: Fingerprints;
  /** Its process: place, number and start, separated by spaces; `null` if unknown. */
  readonly process: string | null;
}

/** The settings of the replicas, of the one that started last first; those of an older version have not stored theirs. */
export const listReplicaSettings = (sql: Queryable) =>
  sql<(Pick<OwnReplica, "host" | "settings"> & Pick<Replica, "started_at">)[]>`
    select host, started_at, settings from replicas
    where seen_at > now() - interval '30 seconds' and settings is not null order by started_at desc, id desc limit 1000`;

/** Whether a worker has sent a heartbeat within the last two minutes: a shorter gap is a restart. */
const isUp = (sql: Queryable) => sql`w.seen_at > now() - interval '2 minutes'`;

/** Returns the time by the database's clock. */
export const saveReplica = async (sql: Queryable, one: OwnReplica): Promise<string | undefined> => {
  const [row] = await sql<{ seen_at: string }[]>`
    with old as (delete from replicas where seen_at < now() - interval '1 day'),
    up as (
      insert into worker_uptime as w (one) select true where ${one.role !== "api"}
      on conflict (one) do update set seen_at = now(), since = case when ${isUp(sql)} then w.since else now() end
    )
    insert into replicas (id, host, role, version, running, started_at, settings, process)
    select ${one.id}, ${one.host}, ${one.role}, ${one.version}, ${one.running}, now(),
      ${JSON.stringify(one.settings)}::text::jsonb, ${one.process} where ${asyncCommit(sql)}
    on conflict (id) do update set running = excluded.running, seen_at = now() returning seen_at`;
  return row?.seen_at;
};

/** The processes of the replicas on a host, as far as they are known. */
export const listProcesses = (sql: Queryable, host: string) =>
  sql<{ id: string; process: string }[]>`select id, process from replicas where host = ${host} and process is not null`;

export const deleteReplica = (sql: Queryable, id: string) => sql`delete from replicas where id = ${id}`;

export interface LastRun {
  readonly name: string;
  readonly error: string | null;
  readonly next_try_at: string | null;
  /** Whether it has run at least once. */
  readonly has_run: boolean;
  /** Since when a run has been due, if it is late. */
  readonly late_since?: string | null;
}

/** A run that needs a contribution of a plugin. */
export interface LastPluginRun extends LastRun {
  readonly id: string;
  /** The name of the contribution. */
  readonly needs: string;
}

/* Each list begins with the failures, so that its limit hides none of them behind parts that work. */

/**
 * The last polls, by poll source. A poll that came due while no replica ran is late only if it is not made within ten minutes after the
 * start. A restart does not reset this time.
 */
export const listPolls = (sql: Queryable): Promise<LastPluginRun[]> =>
  sql<LastPluginRun[]>`
    with up as (
      select least(min(started_at), (select w.since from worker_uptime w where ${isUp(sql)})) as since
      from replicas where seen_at > now() - interval '30 seconds' and role <> 'api'
    )
    select id::text, source as needs, source || ' ' || project_id as name, last_error as error, next_poll_at as next_try_at,
      last_polled_at is not null as has_run, case when is_late then next_poll_at end as late_since
    from poll_sources, up, lateral (select greatest(next_poll_at, up.since) < now() - interval '10 minutes' as is_late) l
    where enabled order by last_error is null, not is_late, id limit 100`;

export const listMcpServers = (sql: Queryable): Promise<LastRun[]> =>
  sql<LastRun[]>`
    select name, case when status = 'failed' then coalesce(last_error, 'the last connection failed') end as error, null as next_try_at,
      status <> 'pending' as has_run
    from mcp_servers order by status <> 'failed', id limit 100`;

/** Knowledge sources, with the error of their last finished sync, or of the one that waits to be tried again. */
export const listKnowledge = (sql: Queryable): Promise<LastPluginRun[]> =>
  sql<LastPluginRun[]>`
    select s.id, s.type as needs, s.name, case when j.status <> 'succeeded' then coalesce(j.error, 'the last sync failed') end as error,
      case when j.status = 'queued' then j.next_attempt_at end as next_try_at, j.status is not null as has_run
    from knowledge_sources s left join lateral (
      select status, error, next_attempt_at from ingestion_jobs
      where knowledge_source_id = s.id and (status in ('succeeded', 'failed') or error is not null)
      order by created_at desc limit 1
    ) j on true
    where s.enabled order by (j.status <> 'succeeded') is not true, s.created_at, s.id limit 100`;

/** The use cases that are set up. */
export async function listUseCases(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`select name from use_cases where state <> 'null' order by name limit 100`;
  return rows.map(({ name }) => name);
}

/** The names of these integrations. */
export async function integrationNames(sql: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ id: string; name: string }[]>`
    select id, name from integrations where id::text = any(${ids as string[]})`;
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** When the previous secrets of connections were last used. */
export async function listPreviousUses(sql: Queryable): Promise<Map<string, string>> {
  const rows = await sql<{ connection: string; used_at: string }[]>`select connection, used_at from previous_secret_uses`;
  return new Map(rows.map(({ connection, used_at }) => [connection, used_at]));
}

/** Agents whose secrets are short. */
export async function agentsWithShortSecrets(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select id from agents where auth_enabled and auth_secret_short order by id limit 50`;
  return rows.map(({ id }) => id);
}
