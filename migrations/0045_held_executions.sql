alter table task_executions
  -- Why it was cancelled: a command, the close of its issue, or a newer event.
  add column reason text,
  -- Who caused its event, comparable within a source, and what they are in the project.
  add column author text,
  add column author_standing text,
  -- What changed since the last execution for this issue and task, one line for each change.
  add column changes text[] not null default '{}',
  -- Its event tells of a state: a later event on the same issue replaces it while it has not begun.
  add column snapshot boolean not null default false,
  -- When somebody released it from a hold. No budget holds it again.
  add column released_at timestamptz(3);

create index task_executions_held on task_executions (held_until) where state = 'held';
create index task_executions_paused_subject on task_executions (subject, created_at) where state in ('held', 'waiting');
create index task_executions_failed_subject on task_executions (subject, finished_at) where state = 'failed';

-- A hold and a release are entries of the audit, as failures and restarts are. One execution may be held many times.
alter table execution_history drop constraint execution_history_pkey;
alter table execution_history add column n bigint generated always as identity;
alter table execution_history add primary key (execution_id, event, attempts, n);

create or replace function keep_execution_history() returns trigger language plpgsql as $$
begin
  if new.state = 'held' or old.state = 'held' then
    insert into execution_history (execution_id, event, attempts, agent_id, detail, created_at) values
      (new.id, case when new.state = 'held' then 'execution.held' else 'execution.released' end, new.attempts,
        coalesce(new.agent_id, (select a.id from tasks t join agents a on a.id = t.actor_id where t.id = new.task_id)),
        case when new.state = 'held' then new.held_reason else old.held_reason end, now());
  elsif old.state = 'failed' then
    insert into execution_history (execution_id, event, attempts, agent_id, detail, duration_ms, created_at) values
      (old.id, 'execution.failed', old.attempts, old.agent_id, old.error,
        (extract(epoch from old.finished_at - old.started_at) * 1000)::bigint, coalesce(old.finished_at, now())),
      (old.id, 'execution.restarted', old.attempts, old.agent_id, null, null, now());
  else
    insert into execution_history (execution_id, event, attempts, agent_id, detail, created_at) values
      (old.id, case when new.failures > old.failures then 'execution.retried' else 'execution.interrupted' end, old.attempts,
        new.agent_id, case when new.failures > old.failures then new.error end, now());
  end if;
  return null;
end $$;

drop trigger execution_history on task_executions;
create trigger execution_history after update of state on task_executions for each row
  when ((new.state = 'queued' and old.state in ('failed', 'running', 'held')) or (new.state = 'held' and old.state <> 'held'))
  execute function keep_execution_history();
create trigger execution_history_of_new after insert on task_executions for each row
  when (new.state = 'held') execute function keep_execution_history();
