create table agent_sessions (
  -- SHA-256 of the session id that the agent holds.
  id_hash text primary key,
  agent_id text not null references agents on delete cascade,
  -- The agent's secret at the time of registration: a session does not outlive it.
  secret_hash text,
  client_version text,
  expires_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now()
);
create index agent_sessions_agent on agent_sessions (agent_id, expires_at);

-- A connected agent that receives tasks. One row per open stream, kept alive by the replica that serves it.
create table agent_streams (
  id uuid primary key,
  agent_id text not null references agents on delete cascade,
  session_hash text not null references agent_sessions on delete cascade,
  expires_at timestamptz(3) not null
);
create index agent_streams_agent on agent_streams (agent_id, expires_at);

alter table task_executions
  -- The connected agent that is to run it in place of the LLM, and until when that agent may take it up.
  add column offered_to text,
  add column offered_until timestamptz(3),
  -- How often it was given to a connected agent that did not finish it.
  add column handovers integer not null default 0,
  -- The stream that holds it while a connected agent works on it.
  add column stream_id uuid;
create index task_executions_offered on task_executions (offered_to, created_at) where state = 'queued' and offered_to is not null;
create index task_executions_stream on task_executions (stream_id) where state = 'running' and stream_id is not null;

-- Counters of rate-limiter-flexible; Redis holds them instead where it is connected.
create table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
