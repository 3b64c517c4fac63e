-- What an event must have for a mapping to fire its task: `min_standing`, `mention`, `label`, `projects`.
alter table trigger_mappings add column conditions jsonb not null default '{}';
