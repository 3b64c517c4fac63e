-- Connected agents that closed their last stream a moment ago. Until then, they count as connected, so that a restart keeps their tasks.
create unlogged table agent_departures (
  agent_id text primary key,
  until timestamptz(3) not null
);
