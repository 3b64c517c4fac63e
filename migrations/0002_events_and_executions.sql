create table webhook_events (
  id uuid primary key,
  source text not null,
  slug text not null,
  delivery_id text,
  -- What was done at the platform, in the same words whether a webhook or a poll told it.
  change_key text,
  event_name text,
  action text,
  actor text,
  subject text,
  canonical_triggers text[] not null default '{}',
  outcome text not null,
  reason text,
  replay_of uuid,
  headers text not null,
  body bytea not null,
  received_at timestamptz(3) not null default now()
);
create unique index webhook_events_delivery on webhook_events (slug, delivery_id) where delivery_id is not null;
create index webhook_events_change on webhook_events (slug, change_key) where change_key is not null;

create table task_executions (
  id uuid primary key,
  event_id uuid references webhook_events on delete cascade,
  task_id text not null,
  agent_id text,
  project_id integer references projects on delete set null,
  source text not null,
  slug text not null,
  canonical_trigger text not null,
  -- The issue as text: executions on the same one run one after the other.
  subject text,
  project text,
  issue text,
  content text not null,
  state text not null default 'queued',
  attempts integer not null default 0,
  failures integer not null default 0,
  -- How often its worker died over it: an execution that kills its workers must not go round for ever.
  deaths integer not null default 0,
  run_after timestamptz(3) not null default now(),
  -- Names the worker and the attempt; whoever writes without the current one has lost the execution.
  lease text,
  lease_expires_at timestamptz(3),
  result text,
  result_url text,
  error text,
  prompt_tokens bigint not null default 0,
  completion_tokens bigint not null default 0,
  tool_calls integer not null default 0,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  unique (event_id, task_id)
);
create index task_executions_queue on task_executions (created_at, id) where state = 'queued';
create index task_executions_queued_subject on task_executions (subject, created_at, id) where state = 'queued';
create unique index task_executions_running_subject on task_executions (subject) where state = 'running';
create index task_executions_lease on task_executions (lease_expires_at) where state = 'running';
create index task_executions_task on task_executions (task_id, created_at desc);
create index task_executions_agent on task_executions (agent_id, created_at desc);
create index task_executions_project on task_executions (project_id, created_at desc) where project_id is not null;

create table execution_steps (
  id uuid primary key,
  execution_id uuid references task_executions on delete cascade,
  seq integer not null,
  agent_id text,
  kind text not null,
  state text not null,
  name text,
  -- Identifies one write at the tracker over all its repetitions.
  key text,
  input json,
  output json,
  error text,
  prompt_tokens integer not null default 0,
  completion_tokens integer not null default 0,
  cost_usd double precision,
  duration_ms integer not null default 0,
  created_at timestamptz(3) not null default now(),
  unique (execution_id, seq)
);
create index execution_steps_tools on execution_steps (created_at desc) where kind = 'tool';

create table watchdog_logs (
  id bigint generated always as identity primary key,
  level text not null,
  message text not null,
  context jsonb not null default '{}',
  created_at timestamptz(3) not null default now()
);
create index watchdog_logs_created on watchdog_logs (created_at desc);

-- PostgreSQL's default compression is the main cost of storing a webhook. A server built without lz4 keeps the default.
do $$
begin
  alter table webhook_events alter column body set compression lz4;
  alter table task_executions alter column content set compression lz4;
exception when feature_not_supported then null;
end $$;
