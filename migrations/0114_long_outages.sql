-- When the watchdog last had an entry about it.
alter table breakers add column reported_at timestamptz(3) not null default now();

-- What an outage has held continues by itself when the outage ends.
create index task_executions_held_by_outage on task_executions (blocked_by) where state = 'held' and blocked_by is not null;
