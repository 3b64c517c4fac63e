-- Since when replicas that run executions have been up without a longer gap, in one row. Restarts do not end this time, so a worker
-- that restarts again and again hides no poll that is late.
create table worker_uptime (
  one boolean primary key default true check (one),
  since timestamptz(3) not null default now(),
  seen_at timestamptz(3) not null default now()
);
