-- What usage reports sum for an execution. Its steps, from which they come, are removed earlier.
alter table task_executions
  add column model text,
  add column cost_usd double precision,
  -- Tokens of model calls whose cost is not known.
  add column unpriced_tokens bigint not null default 0,
  add column failed_tool_calls integer not null default 0;

-- Sums of the executions created on one day (UTC), and of what ran outside of executions. `bucket` is the duration on a
-- logarithmic scale, from which percentiles are estimated; null: nothing that has ended.
create table usage_days (
  day date not null,
  source text,
  project_id integer,
  agent_id text,
  task_id text,
  model text,
  bucket integer,
  runs bigint not null,
  succeeded bigint not null,
  failed bigint not null,
  held bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cost_usd double precision not null,
  unpriced_tokens bigint not null,
  tool_calls bigint not null,
  failed_tool_calls bigint not null
);
create index usage_days_day on usage_days (day);
-- The days that are summed. One with open executions is summed again.
create table usage_sums (
  day date primary key,
  open bigint not null,
  summed_at timestamptz(3) not null default now()
);
-- Chats and direct calls of tools.
create index execution_steps_unattached on execution_steps (created_at) where execution_id is null;

-- Size of the tables over time, one row a table and day.
create table storage_samples (
  day date not null,
  table_name text not null,
  row_count bigint not null,
  bytes bigint not null,
  primary key (day, table_name)
);

-- When retention or an erasure removed what an event and an execution held.
alter table webhook_events add column body_removed_at timestamptz(3);
alter table task_executions add column transcript_removed_at timestamptz(3);
