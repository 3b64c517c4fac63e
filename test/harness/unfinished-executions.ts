import postgres from "postgres";

/** Unfinished executions that wait for the same thing. */
interface UnfinishedGroup {
  /** What they wait for. */
  readonly place: string;
  /** The worker that must act first: the one that holds them, or the execution before them on their issue. `null`: none. */
  readonly worker: string | null;
  readonly count: number;
}

/** Groups the executions that have not ended by what they wait for. */
export class UnfinishedExecutions {
  readonly #sql: postgres.Sql;

  constructor(databaseUrl: string) {
    this.#sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  }
  async close(): Promise<void> {
    await this.#sql.end({ timeout: 1 });
  }

  groups(): Promise<UnfinishedGroup[]> {
    return this.#sql<UnfinishedGroup[]>`
      select place, worker, count(*)::int as count from (
        select case
          when e.state = 'waiting' then 'waits for approval'
          when e.state = 'held' then 'held'
          when e.state = 'running' and l.lease is not null then 'waits for the writer of its living comment'
          when e.state = 'running' and s.kind in ('tool', 'post') and s.in_flight_until > now() and s.started_at < now() - interval '3 s'
            then 'a write for more than 3 s'
          when e.state = 'running' then 'at work: ' || coalesce(s.kind, 'begins')
          when e.blocked_by is not null then 'waits for a breaker'
          when e.run_after > now() and e.deaths > 0 then 'waits after a crash'
          when e.run_after > now() then 'waits for its retry'
          when before.state is not null then 'waits for its issue'
          else 'due'
        end as place,
        split_part(coalesce(e.lease, before.lease), ':', 1) as worker
        from task_executions e
        left join lateral (
          select kind, in_flight_until, started_at from execution_steps s where s.execution_id = e.id and s.state = 'started' order by seq desc limit 1
        ) s on true
        left join lateral (
          select l.lease from living_comments l
          where s.kind = 'post' and s.started_at < now() - interval '3 s' and l.subject = e.subject and l.agent = e.agent_id and l.lease_expires_at > now() limit 1
        ) l on true
        left join lateral (
          select o.state, o.lease from task_executions o
          where e.state = 'queued' and o.subject = e.subject and o.id <> e.id and o.state in ('queued', 'running')
            and (o.state = 'running' or o.created_at < e.created_at)
          order by o.state desc limit 1
        ) before on true
        where e.state in ('queued', 'running', 'waiting', 'held')
      ) as placed group by place, worker`;
  }

  /** The name of each worker that keeps a session, with the port of its client. */
  workers(): Promise<{ worker: string; port: number }[]> {
    return this.#sql<{ worker: string; port: number }[]>`
      select application_name as worker, client_port as port from pg_stat_activity
      where datname = current_database() and application_name like 'signalbox-worker-%'`;
  }
}
