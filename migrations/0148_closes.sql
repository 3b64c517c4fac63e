-- Whether the event closed or deleted its issue, also if no mapping names it.
alter table webhook_events add column closes boolean not null default false;
