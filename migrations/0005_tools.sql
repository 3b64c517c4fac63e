create table tools (
  provider text not null,
  name text not null,
  description text,
  category text,
  -- json, not jsonb: the order in which its author wrote the parameters is the order in which they are read.
  parameters json,
  endpoint text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (provider, name)
);

create table mcp_servers (
  id integer generated always as identity primary key,
  name text not null unique,
  -- The name as the first part of its tools' qualified names.
  provider text not null unique,
  url text not null,
  -- A server of one agent goes with its agent: kept without one it would serve all.
  agent_id text references agents on delete cascade,
  status text not null default 'pending',
  tools json not null default '[]',
  last_error text,
  checked_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);

-- Rounds and tool calls of a chat have no execution; they are told apart by the chat's id.
alter table execution_steps add column chat_id uuid;
create unique index execution_steps_chat on execution_steps (chat_id, seq) where chat_id is not null;
create index execution_steps_agent_tools on execution_steps (agent_id, created_at desc) where kind = 'tool';
