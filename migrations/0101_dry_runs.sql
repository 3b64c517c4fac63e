-- A dry run does everything but write at trackers. `overrides`: the agent and the prompt that an operator's replay names.
alter table task_executions
  add column dry_run boolean not null default false,
  add column overrides jsonb;

-- No sign of it appears at the issue.
drop trigger show_sign on task_executions;
create trigger show_sign after update of state on task_executions for each row
  when (new.state <> old.state and new.has_sign and not new.dry_run and new.state in ('waiting', 'succeeded', 'failed', 'cancelled'))
  execute function show_sign();
