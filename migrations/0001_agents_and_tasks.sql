create table agents (
  id text primary key,
  name text not null,
  role_id text not null,
  description text,
  prompt text not null,
  context text,
  identity text,
  responsibilities text[] not null default '{}',
  constraints text[] not null default '{}',
  communication_style text,
  model text,
  temperature double precision,
  allowed_tools text[],
  trust_level text not null default 'default',
  auth_enabled boolean not null default false,
  auth_secret_hash text,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table agent_capabilities (
  id integer generated always as identity primary key,
  agent_id text not null references agents on delete cascade,
  capability text not null,
  created_at timestamptz(3) not null default now(),
  unique (agent_id, capability)
);

create table projects (
  id integer generated always as identity primary key,
  name text not null,
  description text,
  source text not null,
  source_project_id text not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (source, source_project_id)
);

create table tasks (
  id text primary key,
  name text not null,
  description text not null,
  -- No foreign key: a task may name an agent that does not exist, its fallback prompt is for that.
  actor_id text not null,
  actor_fallback text,
  required_capabilities text[] not null default '{}',
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table source_mappings (
  id integer generated always as identity primary key,
  source text not null,
  event_name text not null,
  action text,
  canonical_trigger text not null,
  created_at timestamptz(3) not null default now(),
  unique nulls not distinct (source, event_name, action)
);

create table trigger_mappings (
  id integer generated always as identity primary key,
  canonical_trigger text not null,
  -- No foreign key: triggers may be seeded before tasks.
  task_id text not null,
  created_at timestamptz(3) not null default now(),
  unique (canonical_trigger, task_id)
);
