-- Limits of an agent and of a project: the members of the policy that they narrow.
alter table agents add column policy jsonb not null default '{}';
alter table projects add column policy jsonb not null default '{}';

-- Who caused an event, when it happened at the platform, the hook that delivered it, whether it tells of a state, whether it is
-- about something that is not public, the comment that it is about, and the thread that its answer goes to.
alter table webhook_events
  add column author jsonb,
  add column occurred_at timestamptz(3),
  add column hook_id text,
  add column snapshot boolean not null default false,
  add column private boolean not null default false,
  add column comment text,
  add column thread text;

-- Why an execution does not run now, and until when; null: until it is released.
alter table task_executions
  add column held_reason text,
  add column held_until timestamptz(3),
  -- The connection, budget, approval or agent that it waits for, in words.
  add column waiting_for text;
