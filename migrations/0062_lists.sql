-- Lists are read by id, newest first, from wherever a cursor says: an index for each filter ends in the id. Ids begin with the
-- time, so these serve filters by time as well.
drop index task_executions_task;
drop index task_executions_agent;
drop index task_executions_project;
create index task_executions_task on task_executions (task_id, id);
create index task_executions_agent on task_executions (agent_id, id);
create index task_executions_project on task_executions (project_id, id) where project_id is not null;
create index task_executions_subject on task_executions (subject, id) where subject is not null;
-- Nearly all have succeeded; those are found without an index.
create index task_executions_state on task_executions (state, id) where state <> 'succeeded';
-- What a search of errors reads.
create index task_executions_error on task_executions (id) where coalesce(error, held_reason) is not null;

create index webhook_events_subject on webhook_events (subject, id) where subject is not null;
create index webhook_events_source on webhook_events (source, id);
create index webhook_events_outcome on webhook_events (outcome, id);

drop index execution_steps_tools;
drop index if exists execution_steps_agent_tools;
create index execution_steps_tools on execution_steps (id) where kind = 'tool';
create index execution_steps_tools_agent on execution_steps (agent_id, id) where kind = 'tool';
create index execution_steps_tools_state on execution_steps (state, id) where kind = 'tool' and state <> 'succeeded';

create index audit_log_operation on audit_log (operation, seq);
