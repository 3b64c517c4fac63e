-- What starts no executions until it is resumed. `id` is empty for the scope all.
create table pauses (
  scope text not null,
  id text not null default '',
  reason text not null,
  paused_by text not null,
  paused_at timestamptz(3) not null default now(),
  primary key (scope, id)
);

-- The reason of the pause that keeps an execution from starting; null if none does.
create function pause_of(x task_executions) returns text language sql stable as $$
  select case p.scope when 'all' then 'everything is paused' else p.scope || ' ' || p.id || ' is paused' end || ': ' || p.reason
  from pauses p
  where p.scope = 'all' or (p.scope = 'source' and p.id = x.source) or (p.scope = 'project' and p.id = x.project_id::text)
    or (p.scope = 'agent' and p.id = coalesce(x.agent_id, (select t.actor_id from tasks t where t.id = x.task_id)))
  order by p.scope limit 1
$$;

-- The claim passes over what is paused, both for the execution that is claimed and for an older one of its issue. While there
-- is no pause this costs one look at an empty table. The function is changed by its text, so that it keeps whatever earlier
-- migrations made of it.
do $$
declare
  claim text := pg_get_functiondef('claim_executions'::regproc);
  changed text;
begin
  if claim like '%pauses%' then return; end if;
  changed := regexp_replace(claim, $re$\m(\w+)\.state = 'queued' and \1\.run_after <= now\(\)$re$,
    $re$\1.state = 'queued' and \1.run_after <= now() and (not exists (select from pauses) or pause_of(\1) is null)$re$, 'g');
  if changed = claim then raise exception 'claim_executions does not have the condition that pauses add to'; end if;
  execute changed;
end $$;

create index task_executions_failed on task_executions (finished_at) where state = 'failed';

-- One row for each process, kept while it runs.
create table replicas (
  id uuid primary key,
  host text not null,
  role text not null,
  version text not null,
  running integer not null default 0,
  started_at timestamptz(3) not null default now(),
  seen_at timestamptz(3) not null default now()
);

-- Whether the secret of an agent has fewer than 16 characters. Only its hash is stored.
alter table agents add column auth_secret_short boolean not null default false;
