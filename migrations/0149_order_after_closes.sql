create index webhook_events_closes on webhook_events (subject, occurred_at) where closes;
-- As before, and a snapshot that is older than a close starts nothing either.
create or replace function order_snapshots() returns trigger language plpgsql as $$
begin
  if not new.polled then
    perform pg_advisory_xact_lock(7160415, hashtext(new.subject));
  end if;
  if new.replay_of is null and (exists (
    select 1 from webhook_events e where e.subject = new.subject and e.snapshot and e.occurred_at > new.occurred_at and e.outcome = 'dispatched'
  ) or exists (
    select 1 from webhook_events e where e.subject = new.subject and e.closes and e.occurred_at > new.occurred_at
  )) then
    new.outcome := 'discarded';
    new.reason := 'it tells of an older state of the issue than an event that came before it';
  end if;
  return new;
end $$;
