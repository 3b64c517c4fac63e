-- Looks for late writes that succeeded; `attempts` counts the claims since the last of them.
alter table write_checks add column looks integer not null default 0;
-- The same, of the current sign; null until it is shown.
alter table execution_signs add column looks integer;

create or replace function show_sign() returns trigger language plpgsql as $$
begin
  insert into execution_signs (execution_id, sign)
  values (new.id, case new.state when 'waiting' then 'working' when 'succeeded' then 'done' when 'failed' then 'failed' end)
  on conflict (execution_id) do update
    set sign = excluded.sign, version = execution_signs.version + 1, due_at = now(), attempts = 0, looks = null;
  return null;
end $$;
