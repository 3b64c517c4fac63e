-- Who published a version: package name and registry; an approval is valid for one publisher. null: not known.
alter table plugin_versions add column publisher text;
-- When an operator went back from a version; a rollback does not choose it again.
alter table plugin_versions add column rolled_back_at timestamptz;
-- The plugin that an integration's credentials are for: another plugin with a source of the same name does not get them.
alter table integrations add column plugin text;
update integrations set plugin = source;
