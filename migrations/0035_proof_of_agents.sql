-- A key may end by itself, and may be bound to agents.
alter table api_keys
  add column expires_at timestamptz(3),
  -- Agents that the key may register. Null: all.
  add column agent_ids text[];

-- SHA-256, in hexadecimal, of the API key that opened the session: a session does not outlive its key either.
alter table agent_sessions add column key_hash text;

-- The agent that wrote a memory through the gateway. Memories live in several stores, so this is no foreign key.
create table memory_authors (
  memory_id uuid primary key,
  agent_id text not null references agents on delete cascade,
  -- Null: the memory does not expire.
  expires_at timestamptz(3)
);
create index memory_authors_expiry on memory_authors (expires_at) where expires_at is not null;
