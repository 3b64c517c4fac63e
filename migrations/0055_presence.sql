-- Whether the issue of an execution shows that it works on it, or did. Kept, so that a later end of it replaces the sign.
alter table task_executions add column has_sign boolean not null default false;

-- Signs to show, each until it is shown. `sign`: working, done, failed; null: take the sign away.
create table execution_signs (
  execution_id uuid primary key references task_executions on delete cascade,
  sign text,
  -- Counts the changes, so that one that comes while another is carried out is not lost.
  version integer not null default 1,
  due_at timestamptz(3) not null default now(),
  attempts integer not null default 0,
  -- What the living comment shows of this execution.
  shown text,
  lease text,
  lease_expires_at timestamptz(3)
);
create index execution_signs_due on execution_signs (due_at);

create function show_sign() returns trigger language plpgsql as $$
begin
  insert into execution_signs (execution_id, sign)
  values (new.id, case new.state when 'waiting' then 'working' when 'succeeded' then 'done' when 'failed' then 'failed' end)
  on conflict (execution_id) do update
    set sign = excluded.sign, version = execution_signs.version + 1, due_at = now(), attempts = 0;
  return null;
end $$;

-- By a trigger: whoever ends an execution, its sign follows. The condition is checked without a call, so a fast run costs nothing.
create trigger show_sign after update of state on task_executions for each row
  when (new.state <> old.state and new.has_sign and new.state in ('waiting', 'succeeded', 'failed', 'cancelled'))
  execute function show_sign();
