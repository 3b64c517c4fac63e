-- Until when a request of a started step may still be on its way to the platform. A worker that takes the execution over waits
-- for that before it looks for the write. Null: nothing is on its way.
alter table execution_steps add column in_flight_until timestamptz;

-- The leases whose loss was counted in `deaths`. A worker that lost one and lives takes its count back.
alter table task_executions add column death_leases text[] not null default '{}';

-- Writes that may have been made twice, each to be looked for once nothing of it can be on its way any more.
create table write_checks (
  step_id uuid primary key references execution_steps (id) on delete cascade,
  due_at timestamptz not null,
  attempts integer not null default 0,
  lease text,
  lease_expires_at timestamptz
);
create index write_checks_due on write_checks (due_at);
