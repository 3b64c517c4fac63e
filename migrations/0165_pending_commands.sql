-- Commands in comments that wait for what is looked up at the platform: the standing of the author, or the name of the issue. The
-- replica that looks it up has a lease, so another one continues after a crash.
create table pending_commands (
  event_id uuid primary key references webhook_events (id) on delete cascade,
  subject text not null,
  name text not null,
  rest text not null,
  -- The effect of a /stop that was carried out under the id of its issue, and will be again under the name.
  first_effect jsonb,
  attempts integer not null default 0,
  due_at timestamptz(3) not null default now(),
  lease uuid,
  lease_expires_at timestamptz(3)
);
create index pending_commands_due on pending_commands (due_at);
create index pending_commands_subject on pending_commands (subject, event_id);
