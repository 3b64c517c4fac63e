-- The proposals of executions that were cancelled before `0152_cancelled_proposals.sql`, in a transaction of its own, because that one
-- locks the executions.
update execution_steps s set state = 'rejected', decided_at = coalesce(e.finished_at, now()), decided_by = null,
  error = case when s.decided_at is null then 'The execution was cancelled.'
    else 'It was approved, but the execution was cancelled before it was written.' end
from task_executions e where e.id = s.execution_id and e.state = 'cancelled' and s.state = 'proposed';
