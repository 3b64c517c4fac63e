-- How many of its steps had ended at the last death that `deaths` counts. One that has ended more since is not what kills its worker, so
-- `deaths` counts from one again.
alter table task_executions add column death_steps integer not null default 0;
