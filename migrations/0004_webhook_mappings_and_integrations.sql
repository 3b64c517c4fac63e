create table webhook_mappings (
  id integer generated always as identity primary key,
  source text not null,
  event_type text,
  jq_filter text,
  canonical_trigger text,
  path_pattern text,
  extraction_rules jsonb,
  auth jsonb not null default '{"method": "none"}',
  -- The secret of `auth`, encrypted (JWE).
  secret text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
-- Filters are longer than an index entry may be.
create unique index webhook_mappings_same on webhook_mappings
  (source, coalesce(event_type, ''), coalesce(path_pattern, ''), coalesce(canonical_trigger, ''), md5(coalesce(jq_filter, '')));

create table integrations (
  id uuid primary key,
  source text not null,
  name text not null,
  -- All credentials in one encrypted JSON object (JWE); only their names stand readable beside it.
  credentials text not null,
  members text[] not null,
  agent_id text references agents on delete set null,
  project_id integer references projects on delete set null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
