-- The payload does not tell everything about the event's issue; it is looked up when a task runs.
alter table webhook_events add column incomplete boolean not null default false;
