-- An execution counts from its first start, and may be restarted after more than the 24.8 days of milliseconds that an integer holds.
alter table execution_history alter column duration_ms type bigint;

create or replace function keep_execution_history() returns trigger language plpgsql as $$
begin
  if old.state = 'failed' then
    insert into execution_history (execution_id, event, attempts, agent_id, detail, duration_ms, created_at) values
      (old.id, 'execution.failed', old.attempts, old.agent_id, old.error,
        (extract(epoch from old.finished_at - old.started_at) * 1000)::bigint, coalesce(old.finished_at, now())),
      (old.id, 'execution.restarted', old.attempts, old.agent_id, null, null, now())
    on conflict do nothing;
  else
    insert into execution_history (execution_id, event, attempts, agent_id, detail, created_at) values
      (old.id, case when new.failures > old.failures then 'execution.retried' else 'execution.interrupted' end, old.attempts,
        new.agent_id, case when new.failures > old.failures then new.error end, now())
    on conflict do nothing;
  end if;
  return null;
end $$;
