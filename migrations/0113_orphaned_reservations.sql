-- Counts as used what an execution had reserved under a lease that it no longer has. Locks the usage before the reservation, as
-- `reserve_budget` does: two replicas that settle at once would otherwise wait for each other.
create function settle_orphan(execution uuid, former_lease text) returns void language plpgsql as $$
declare
  left_behind budget_reservations;
begin
  perform 1 from budget_usage u
    where u.scope in (select unnest(r.scopes) from budget_reservations r where r.execution_id = execution)
    order by u.scope for update;
  delete from budget_reservations where execution_id = execution and lease = former_lease returning * into left_behind;
  if found then
    perform add_usage(left_behind.scopes, 0, left_behind.tokens, left_behind.usd);
  end if;
end $$;
