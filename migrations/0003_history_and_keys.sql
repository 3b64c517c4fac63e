-- A row of task_executions says how an execution stands now. What a restart or a retry overwrites is kept here, so that
-- nothing vanishes from the audit. Written by a trigger: whoever changes the state, it is kept.
create table execution_history (
  execution_id uuid not null references task_executions on delete cascade,
  event text not null,
  attempts integer not null,
  agent_id text,
  detail text,
  duration_ms integer,
  created_at timestamptz(3) not null,
  primary key (execution_id, event, attempts)
);
create index execution_history_agent on execution_history (agent_id, created_at desc);

create function keep_execution_history() returns trigger language plpgsql as $$
begin
  if old.state = 'failed' then
    insert into execution_history (execution_id, event, attempts, agent_id, detail, duration_ms, created_at) values
      (old.id, 'execution.failed', old.attempts, old.agent_id, old.error,
        (extract(epoch from old.finished_at - old.started_at) * 1000)::int, coalesce(old.finished_at, now())),
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

-- The condition is checked without a call: what happens to every execution costs nothing more.
create trigger execution_history after update of state on task_executions for each row
  when (new.state = 'queued' and old.state in ('failed', 'running')) execute function keep_execution_history();

create index execution_steps_agent on execution_steps (agent_id, created_at desc) where kind <> 'prompt';
create index watchdog_logs_level on watchdog_logs (level, id desc);

-- A revoked key keeps its row: as long as one was ever made, the API does not fall open again.
create table api_keys (
  id integer generated always as identity primary key,
  name text not null,
  -- SHA-256 of the key. The key is 256 random bits, so there is nothing to guess that a slow hash would protect.
  key_hash bytea not null unique,
  hint text not null,
  scopes text[] not null,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3),
  revoked_at timestamptz(3)
);
create unique index api_keys_name on api_keys (name) where revoked_at is null;
