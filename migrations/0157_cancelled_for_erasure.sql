-- Executions that an erasure cancelled. A connected agent may store memories of one until it learns that it is cancelled. After the
-- erasure of a person, their name no longer finds the execution, so the next erasure looks for such memories again.
create table cancelled_for_erasure (
  execution_id uuid primary key,
  cancelled_at timestamptz(3) not null default now()
);
