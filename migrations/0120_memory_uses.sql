-- Keys of the memories that were in the prompt of an execution: where a memory is used. Null: none.
alter table task_executions add column memories text[];
create index task_executions_memories on task_executions using gin (memories) where memories is not null;
