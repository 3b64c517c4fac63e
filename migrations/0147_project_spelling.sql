-- Platforms ignore case in the ids of projects, so two projects of a source that differ only in case are one. Of such projects, the one
-- that events used last keeps its id at the platform; the others stay, with an id that no event names.
update projects p set source_project_id = p.source_project_id || ' (project ' || p.id || ', a duplicate of project ' || d.kept || ')'
from (
  select id, first_value(id) over w as kept from projects
  window w as (
    partition by source, lower(source_project_id collate "C")
    order by (select max(e.created_at) from task_executions e where e.project_id = projects.id) desc nulls last, id)
) d
where d.id = p.id and d.kept <> p.id;

create unique index projects_source_spelling_key on projects (source, lower(source_project_id collate "C"));
