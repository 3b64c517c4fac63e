-- An issue has few events and executions, so a list of them is sorted when it is read: without the ids, the index stores each subject once.
create index webhook_events_of_subject on webhook_events (subject) where subject is not null;
drop index webhook_events_subject;
create index task_executions_of_subject on task_executions (subject) where subject is not null;
drop index task_executions_subject;

-- Keys of changes are long, and only compared whole.
create index webhook_events_change_hash on webhook_events (hashtext(change_key)) where change_key is not null;
drop index webhook_events_change;

create or replace function skip_known_change() returns trigger language plpgsql as $$
begin
  if new.polled then
    perform pg_advisory_xact_lock(7160414, hashtext(new.slug));
    if exists (select 1 from webhook_events e where hashtext(e.change_key) = hashtext(new.change_key) and e.slug = new.slug
      and e.change_key = new.change_key) then
      return null;
    end if;
  else
    perform pg_advisory_xact_lock_shared(7160414, hashtext(new.slug));
    if exists (select 1 from webhook_events e where e.slug = new.slug and e.change_key = new.change_key and e.polled) then
      return null;
    end if;
  end if;
  return new;
end $$;
