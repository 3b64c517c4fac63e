-- Whatever state an execution is cancelled from, its proposals that are not written are rejected, also if they were approved. An
-- execution that no worker has started has none.
create or replace function reject_proposals() returns trigger language plpgsql as $$
begin
  update execution_steps
  set state = 'rejected', decided_at = now(), decided_by = null,
    error = case when decided_at is null then 'The execution was cancelled.'
      else 'It was approved, but the execution was cancelled before it was written.' end
  where execution_id = new.id and state = 'proposed';
  return null;
end $$;
drop trigger reject_proposals on task_executions;
create trigger reject_proposals after update of state on task_executions for each row
  when (new.state = 'cancelled' and old.state <> 'cancelled' and old.attempts > 0) execute function reject_proposals();
