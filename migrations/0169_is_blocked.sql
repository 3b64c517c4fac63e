-- Claims read what blocks an execution in one expression of their own, so nothing calls it.
drop function if exists is_blocked(task_executions);
