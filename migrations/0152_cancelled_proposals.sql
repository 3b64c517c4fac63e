-- Whatever state an execution is cancelled from, its undecided proposals are rejected, and so are approved ones that have not
-- begun. An execution that no worker has started has none.
create or replace function reject_proposals() returns trigger language plpgsql as $$
begin
  update execution_steps
  set state = 'rejected', decided_at = coalesce(decided_at, now()), error = 'The execution was cancelled.'
  where execution_id = new.id and state = 'proposed';
  return null;
end $$;
drop trigger reject_proposals on task_executions;
create trigger reject_proposals after update of state on task_executions for each row
  when (new.state = 'cancelled' and old.state <> 'cancelled' and old.attempts > 0) execute function reject_proposals();

update execution_steps s set state = 'rejected', decided_at = now(), error = 'The execution was cancelled.'
from task_executions e
where e.id = s.execution_id and e.state = 'cancelled' and s.state = 'proposed' and s.decided_at is null;
