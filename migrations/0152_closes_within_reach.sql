-- As before, but whoever knows the secret of an integration can report any close, so one from an integration's webhook concerns only
-- the events of that webhook.
create or replace function order_snapshots() returns trigger language plpgsql as $$
begin
  if not new.polled then
    perform pg_advisory_xact_lock(7160415, hashtext(new.subject));
  end if;
  if new.replay_of is null and (exists (
    select 1 from webhook_events e where e.subject = new.subject and e.snapshot and e.occurred_at > new.occurred_at and e.outcome = 'dispatched'
  ) or exists (
    select 1 from webhook_events e where e.subject = new.subject and e.closes and e.occurred_at > new.occurred_at
      and (e.slug = new.slug or e.slug !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
  )) then
    new.outcome := 'discarded';
    new.reason := 'it tells of an older state of the issue than an event that came before it';
  end if;
  return new;
end $$;
