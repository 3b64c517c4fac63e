-- Why an execution is held, instead of queued again, when its current attempt ends without a result. Set when its paused project is
-- deleted while it runs: the pause would have kept it from starting again.
alter table task_executions add column hold_on_retry text;

create function hold_on_retry() returns trigger language plpgsql as $$
begin
  if new.state in ('queued', 'held') then
    new.state := 'held';
    new.held_reason := new.hold_on_retry;
    new.held_until := null;
    new.waiting_for := 'a release by an operator';
    new.offered_to := null;
    new.offered_until := null;
  end if;
  new.hold_on_retry := null;
  return new;
end $$;
create trigger hold_on_retry before update of state on task_executions for each row
  when (new.hold_on_retry is not null and old.state = 'running' and new.state <> 'running')
  execute function hold_on_retry();
