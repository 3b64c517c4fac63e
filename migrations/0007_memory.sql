create extension if not exists vector;

-- The keys of all memories, in whichever store they are: whoever holds the row has the key.
create table memory_keys (
  key text primary key,
  id uuid not null,
  store text not null,
  -- Set while the memory is being written; a creation that died before it was done loses the key to the next one.
  pending_until timestamptz(3),
  expires_at timestamptz(3)
);
create index memory_keys_expires on memory_keys (expires_at) where expires_at is not null;

-- The embedding columns of this and of document_chunks are made at the start: their dimension is configured.
create table memories (
  id uuid primary key,
  key text not null unique,
  content text not null,
  scope text not null,
  agent_id text,
  project_id integer,
  task_id text,
  words tsvector generated always as (to_tsvector('english', content)) stored,
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index memories_words on memories using gin (words);
create index memories_created on memories (created_at desc, id desc);
create index memories_scope on memories (scope, created_at desc, id desc);
create index memories_agent on memories (agent_id, project_id) where agent_id is not null;
create index memories_project on memories (project_id, scope) where project_id is not null;
create index memories_task on memories (task_id) where task_id is not null;
create index memories_expires on memories (expires_at) where expires_at is not null;

create table knowledge_sources (
  id uuid primary key,
  name text not null,
  type text not null,
  config jsonb not null default '{}',
  project_id integer references projects on delete cascade,
  enabled boolean not null default true,
  last_synced_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table document_chunks (
  id uuid primary key,
  knowledge_source_id uuid not null references knowledge_sources on delete cascade,
  content text not null,
  metadata jsonb not null default '{}',
  chunk_index integer not null,
  words tsvector generated always as (to_tsvector('english', content)) stored,
  created_at timestamptz(3) not null default now()
);
create index document_chunks_source on document_chunks (knowledge_source_id);
create index document_chunks_words on document_chunks using gin (words);

-- One row: which model made the vectors that are stored, and a name for this installation in shared services.
create table embedding_settings (
  single boolean primary key default true check (single),
  installation uuid not null default gen_random_uuid(),
  model text,
  dimension integer
);
insert into embedding_settings default values;

-- Work that one replica at a time does.
create table memory_leases (
  name text primary key,
  holder text not null,
  expires_at timestamptz(3) not null
);
