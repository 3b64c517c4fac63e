-- How many rows a filter lets through is counted before each search: of an agent's in a scope by the index alone.
drop index memories_agent;
create index memories_agent on memories (agent_id, project_id) include (scope) where agent_id is not null;
