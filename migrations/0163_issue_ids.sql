-- Some webhooks name an issue by a UUID without its project, which an earlier execution knows.
create index task_executions_issue_id on task_executions (issue, id) where length(issue) = 36;
