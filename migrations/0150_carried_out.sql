-- Whether the command in the comment of an event may not be carried out again. Unlike the reason, an erasure does not remove it.
alter table webhook_events add column carried_out boolean not null default false;
