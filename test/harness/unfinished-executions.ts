import postgres from "postgres";

/** Counts the executions that have not ended, by the reason for which they wait. */
export class UnfinishedExecutions {
  readonly #sql: postgres.Sql;
  readonly #leaseSeconds: number;

  constructor(databaseUrl: string, leaseSeconds: number) {
    this.#sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
    this.#leaseSeconds = leaseSeconds;
  }
  async close(): Promise<void> {
    await this.#sql.end({ timeout: 1 });
  }

  count(): Promise<{ place: string; count: number }[]> {
    return this.#sql`
      select place, count(*)::int as count from (
        select case
          when e.state = 'waiting' then 'waits for approval'
          when e.state = 'held' then 'held'
          when e.state = 'running' and e.lease_expires_at < now() + make_interval(secs => ${(this.#leaseSeconds * 2) / 3 - 1.5})
            then 'with a worker that does not renew'
          when e.state = 'running' and s.kind in ('tool', 'post') and s.in_flight_until > now() and s.started_at < now() - interval '3 s'
            then 'a write for more than 3 s'
          when e.state = 'running' then 'at work: ' || coalesce(s.kind, 'begins')
          when e.blocked_by is not null then 'waits for a breaker'
          when e.run_after > now() and e.deaths > 0 then 'waits after a crash'
          when e.run_after > now() then 'waits for its retry'
          when exists (select from task_executions o where o.subject = e.subject and o.id <> e.id and o.state in ('queued', 'running')
            and (o.state = 'running' or o.created_at < e.created_at)) then 'waits for its issue'
          else 'due'
        end as place
        from task_executions e
        left join lateral (
          select kind, in_flight_until, started_at from execution_steps s where s.execution_id = e.id and s.state = 'started' order by seq desc limit 1
        ) s on true
        where e.state in ('queued', 'running', 'waiting', 'held')
      ) as placed group by place`;
  }
}
