create table poll_sources (
  id integer generated always as identity primary key,
  source text not null,
  project_id text not null,
  interval_minutes integer not null,
  enabled boolean not null,
  -- Where the first poll begins; null: interval_minutes before the creation.
  since timestamptz(3),
  cursor text,
  last_polled_at timestamptz(3),
  last_error text,
  next_poll_at timestamptz(3) not null,
  -- Names the replica and the poll; whoever writes without the current one has lost the source to another.
  lease text,
  lease_expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index poll_sources_due on poll_sources (next_poll_at) where enabled;

-- It came by a poll, not by a webhook.
alter table webhook_events add column polled boolean not null default false;
create unique index webhook_events_polled on webhook_events (slug, change_key) where polled and change_key is not null;

-- A change that was polled and came by webhook too is one event: whichever is second is left out, as by `on conflict do
-- nothing`. Two webhooks may share a change, so no unique index can say this. The lock makes a poll and the webhooks of
-- one slug take turns on every replica, and the queries of a volatile function see what was committed while it waited.
create function skip_known_change() returns trigger language plpgsql volatile as $$
begin
  if new.polled then
    perform pg_advisory_xact_lock(7160414, hashtext(new.slug));
    if exists (select 1 from webhook_events e where e.slug = new.slug and e.change_key = new.change_key) then
      return null;
    end if;
  else
    perform pg_advisory_xact_lock_shared(7160414, hashtext(new.slug));
    if exists (select 1 from webhook_events e where e.slug = new.slug and e.change_key = new.change_key and e.polled) then
      return null;
    end if;
  end if;
  return new;
end
$$;
create trigger webhook_events_skip_known_change before insert on webhook_events
  for each row when (new.change_key is not null) execute function skip_known_change();

-- The messages of a queue are the rows of webhook_events and the finished ones of task_executions: nothing is written for
-- them until a consumer takes one. All that happened before the position is done with.
create table queue_positions (
  queue text primary key,
  position timestamptz(3) not null default 'epoch'
);
create table queue_takes (
  queue text not null,
  message_id text not null,
  happened_at timestamptz(3) not null,
  lease_expires_at timestamptz(3) not null,
  acked boolean not null default false,
  primary key (queue, message_id)
);
create index queue_takes_happened on queue_takes (queue, happened_at);
create index task_executions_finished on task_executions (finished_at) where finished_at is not null;

-- What a use case set up, for its teardown.
create table use_cases (
  name text primary key,
  state jsonb not null,
  set_up_at timestamptz(3) not null default now()
);
