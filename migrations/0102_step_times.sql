-- A step is stored when its request goes out, and changed when its answer is there.
alter table execution_steps
  add column started_at timestamptz(3),
  add column ended_at timestamptz(3);
