-- Models and connections that failed for everybody. While a row is here, executions that need what it names stay queued without
-- using up attempts; now and then one of them, the probe, tries again. The first success removes the row.
create table breakers (
  -- `model`, or `connection <source> <id>`.
  key text primary key,
  -- As people read it.
  name text not null,
  -- What failed: a read, or a write. A platform may take the one and refuse the other.
  effect text not null,
  reason text not null,
  failures integer not null default 1,
  opened_at timestamptz(3) not null default now(),
  next_probe_at timestamptz(3) not null,
  -- Execution that may try; it is not kept back.
  probe uuid
);

-- Key of the breaker that an execution met. It counts while that breaker is open.
alter table task_executions add column blocked_by text;

-- What an execution needs next, as far as that is known. One that has not begun needs the model, unless a connected agent may take it.
create function blocking_key(x task_executions) returns text language sql stable as $$
  select coalesce(x.blocked_by, case when x.started_at is null and not exists (
    select from agent_streams s join tasks t on t.id = x.task_id
    where s.expires_at > now() and (t.required_capabilities <> '{}' or s.agent_id = coalesce(x.agent_id, t.actor_id))
  ) then 'model' end)
$$;

create function is_blocked(x task_executions) returns boolean language sql stable as $$
  select exists (select from breakers b where b.key = blocking_key(x) and b.probe is distinct from x.id)
$$;

-- The claim passes over what is blocked, as over what is paused: see 0063_pauses.sql.
do $$
declare
  claim text := pg_get_functiondef('claim_executions'::regproc);
  changed text;
begin
  if claim like '%breakers%' then return; end if;
  changed := regexp_replace(claim, $re$\(not exists \(select from pauses\) or pause_of\((\w+)\) is null\)$re$,
    $re$\& and (not exists (select from breakers) or not is_blocked(\1))$re$, 'g');
  if changed = claim then raise exception 'claim_executions does not have the condition that breakers add to'; end if;
  execute changed;
end $$;
