-- What this installation wrote at trackers, for 24 hours: to recognise its own changes, and events that answer them.
create table own_writes (
  step_id uuid primary key,
  execution_id uuid,
  -- As `webhook_events.subject`.
  subject text,
  -- Digest of the idempotency key, as in markers.
  mark text not null,
  -- Kind of the change: comment, label, state, create, edit.
  kind text not null,
  -- Digests of the texts that were written.
  digests text[] not null,
  -- Id of the comment, once the platform has answered.
  ref text,
  at timestamptz not null default now(),
  -- When the platform answered.
  done_at timestamptz,
  -- The event without an actor that this write explains.
  explained uuid
);
create index own_writes_subject on own_writes (subject, at);
create index own_writes_mark on own_writes (mark);

-- How many events in a row each came soon after a write of ours on the same subject.
create table subject_hops (
  subject text primary key,
  hops int not null,
  event_at timestamptz not null default now()
) with (fillfactor = 70);

-- Changes that one of several hooks delivered, for five minutes.
create table hook_deliveries (
  source text not null,
  -- SHA-256 of the body without what differs between hooks.
  digest bytea not null,
  hook_id text not null,
  event_id uuid not null,
  received_at timestamptz not null default now(),
  primary key (source, digest)
) with (fillfactor = 70);

-- The number of the hop that an execution's event is, and the execution whose write the event followed.
alter table task_executions add column hop int, add column answers uuid;
