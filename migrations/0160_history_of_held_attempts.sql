-- An execution that is held instead of retried keeps the history of the attempt that ended. It shows why it is held, so a search for
-- that reason finds it.
create or replace function hold_on_retry() returns trigger language plpgsql as $$
begin
  if new.state in ('queued', 'held') then
    if new.state = 'queued' then
      insert into execution_history (execution_id, event, attempts, agent_id, detail, created_at) values
        (old.id, case when new.failures > old.failures then 'execution.retried' else 'execution.interrupted' end, old.attempts,
          new.agent_id, case when new.failures > old.failures then new.error end, now());
    end if;
    new.state := 'held';
    new.error := null;
    new.held_reason := new.hold_on_retry;
    new.held_until := null;
    new.waiting_for := 'a release by an operator';
    new.offered_to := null;
    new.offered_until := null;
  end if;
  new.hold_on_retry := null;
  return new;
end $$;
