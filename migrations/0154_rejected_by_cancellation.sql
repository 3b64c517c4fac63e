-- A cancellation also rejects proposals that were approved but not begun. They no longer name who approved them as who rejected them.
create or replace function reject_proposals() returns trigger language plpgsql as $$
begin
  update execution_steps
  set state = 'rejected', decided_at = now(), decided_by = null,
    error = case when decided_at is null then 'The execution was cancelled.'
      else 'It was approved, but the execution was cancelled before it was written.' end
  where execution_id = new.id and state = 'proposed';
  return null;
end $$;

update execution_steps s set state = 'rejected', decided_at = now(), decided_by = null,
  error = 'It was approved, but the execution was cancelled before it was written.'
from task_executions e where e.id = s.execution_id and e.state = 'cancelled' and s.state = 'proposed';
