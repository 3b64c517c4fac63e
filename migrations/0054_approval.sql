-- A step of kind `tool` or `post` whose state is `proposed` is a write that waits for approval, or that is approved and not yet
-- begun (`decided_at` is set). A decided step keeps who decided, whatever became of it.
alter table execution_steps
  add column expires_at timestamptz(3),
  add column decided_by text,
  add column decided_at timestamptz(3);
create index execution_steps_proposed on execution_steps (expires_at) where state = 'proposed' and decided_at is null;

-- What waits for approval and is cancelled is rejected, whoever cancels it.
create function reject_proposals() returns trigger language plpgsql as $$
begin
  update execution_steps set state = 'rejected', decided_at = now(), error = 'The execution was cancelled.'
  where execution_id = new.id and state = 'proposed' and decided_at is null;
  return null;
end $$;
create trigger reject_proposals after update of state on task_executions for each row
  when (new.state = 'cancelled' and old.state = 'waiting') execute function reject_proposals();
