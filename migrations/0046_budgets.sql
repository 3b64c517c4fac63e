-- One notice on an issue in an hour, about executions that a budget holds.
create table issue_notices (
  id uuid primary key,
  subject text not null,
  hour timestamptz(3) not null default date_trunc('hour', now(), 'UTC'),
  source text not null,
  slug text not null,
  project_id integer,
  agent_id text,
  project text not null,
  issue text not null,
  private boolean not null default false,
  thread text,
  body text not null,
  attempts integer not null default 0,
  due_at timestamptz(3) default now(),
  lease text,
  lease_expires_at timestamptz(3),
  unique (subject, hour)
);
create index issue_notices_due on issue_notices (due_at) where due_at is not null;

-- What was used of the budgets of an hour, a day and a month, which begin with those of UTC. Scopes: `service`, `project 7`,
-- `agent pm_default`, `issue alpha:octo/app#7`, `author alpha:583231`. A row whose window has passed counts as nothing.
create table budget_usage (
  scope text primary key,
  hour timestamptz(3) not null default date_trunc('hour', now(), 'UTC'),
  hour_runs integer not null default 0,
  day timestamptz(3) not null default date_trunc('day', now(), 'UTC'),
  day_tokens bigint not null default 0,
  day_usd double precision not null default 0,
  month timestamptz(3) not null default date_trunc('month', now(), 'UTC'),
  month_usd double precision not null default 0
) with (fillfactor = 70);
-- For the removal of rows whose windows have passed.
create index budget_usage_day on budget_usage (day);

-- What requests to the model that are under way may use. The step that stores the answer settles the reservation. One that an
-- attempt has left behind is counted as used, because nobody knows what its request has cost.
create table budget_reservations (
  execution_id uuid primary key references task_executions on delete cascade,
  lease text not null,
  scopes text[] not null,
  tokens bigint not null,
  usd double precision not null
);

-- Adds to the usage of scopes. Rows are locked in the order of the scopes.
create function add_usage(given text[], runs integer, tokens bigint, usd double precision) returns void language sql as $$
  insert into budget_usage as u (scope, hour_runs, day_tokens, day_usd, month_usd)
  select scope, runs, tokens, usd, usd from unnest(given) scope order by scope
  on conflict (scope) do update set
    hour_runs = case when u.hour = excluded.hour then u.hour_runs else 0 end + excluded.hour_runs, hour = excluded.hour,
    day_tokens = case when u.day = excluded.day then u.day_tokens else 0 end + excluded.day_tokens,
    day_usd = case when u.day = excluded.day then u.day_usd else 0 end + excluded.day_usd, day = excluded.day,
    month_usd = case when u.month = excluded.month then u.month_usd else 0 end + excluded.month_usd, month = excluded.month
$$;

-- Counts the reservation of an execution as used, if it has left one.
create function charge_reservation(execution uuid) returns void language plpgsql as $$
declare
  left_behind budget_reservations;
begin
  delete from budget_reservations where execution_id = execution returning * into left_behind;
  if found then
    perform add_usage(left_behind.scopes, 0, left_behind.tokens, left_behind.usd);
  end if;
end $$;

-- Reserves what a request may use, for an execution under its lease, of the budgets of the service, its project and its agent. `limits`
-- are those of the settings. Returns nothing if the request may be sent, else the budget that keeps it back: used up until a time,
-- or, with `is_busy`, reserved by other requests. Requests reserve one after the other, so a budget is exceeded by the last one.
create function reserve_budget(
  execution uuid, held_lease text, limits jsonb, of_project integer, of_agent text, request_tokens bigint, request_usd double precision
) returns table (member text, level text, value double precision, used double precision, until timestamptz, is_busy boolean)
language plpgsql as $$
declare
  this_day timestamptz := date_trunc('day', now(), 'UTC');
  this_month timestamptz := date_trunc('month', now(), 'UTC');
  budgets jsonb := (
    select jsonb_agg(jsonb_build_object('scope', s.scope, 'level', s.level, 'member', m, 'value', s.policy->m))
    from (
      select 'service' as scope, 'settings' as level, limits as policy
      union all select 'project ' || id, 'project', policy from projects where id = of_project
      union all select 'agent ' || id, 'agent', policy from agents where id = of_agent
    ) s cross join unnest(array['day_tokens', 'day_usd', 'month_usd']) m
    where (s.policy->>m)::double precision > 0);
  of_scopes text[] := array(select distinct b->>'scope' from jsonb_array_elements(budgets) b order by 1);
begin
  insert into budget_usage (scope) select scope from unnest(of_scopes) scope order by scope on conflict do nothing;
  perform 1 from budget_usage u where u.scope = any(of_scopes) order by u.scope for update;
  perform charge_reservation(execution);
  return query
    with reserved as (
      select scope, sum(r.tokens) as tokens, sum(r.usd) as usd from budget_reservations r, unnest(r.scopes) scope
      where scope = any(of_scopes) group by scope
    ), state as (
      select b->>'member' as member, b->>'level' as level, (b->>'value')::double precision as value,
        case b->>'member' when 'month_usd' then case when u.month = this_month then u.month_usd else 0 end
          when 'day_usd' then case when u.day = this_day then u.day_usd else 0 end
          else case when u.day = this_day then u.day_tokens else 0 end end::double precision as used,
        coalesce(case b->>'member' when 'day_tokens' then r.tokens else r.usd end, 0)::double precision as reserved,
        case b->>'member' when 'month_usd' then (date_trunc('month', now() at time zone 'UTC') + interval '1 month') at time zone 'UTC'
          else this_day + interval '1 day' end as until
      from jsonb_array_elements(budgets) b join budget_usage u on u.scope = b->>'scope' left join reserved r on r.scope = b->>'scope'
    )
    select s.member, s.level, s.value, s.used, s.until, s.used < s.value from state s
    where s.used >= s.value or (s.reserved > 0 and s.used + s.reserved >= s.value)
    order by s.used < s.value, s.until desc limit 1;
  if not found then
    insert into budget_reservations values (execution, held_lease, of_scopes, request_tokens, request_usd);
  end if;
end $$;

-- Takes up to `most` executions that are due, oldest first, for a worker. Of several on one subject the oldest only, and none
-- while one of that subject runs; the unique index on running subjects is the guard between replicas.
--
-- An execution that would exceed a budget is held instead; the rows say so by their state. `limits` are those of the settings.
-- With `share`, no project and no author gets more than that many places of the worker, those in `busy_…` included, as long as
-- others wait among the next thousand.
--
-- The statistics of a queue are those of a moment long gone: by them the planner reads and sorts all that waits for the sake of
-- a few. With these settings, and `offset 0` to keep the two looks from becoming joins of the queue with itself, it walks along
-- the index, and a claim costs what it takes; compiled it would take seconds, because ways that are switched off count as infinitely
-- dear. They are why this is a function: elsewhere they would do harm.
drop function claim_executions(text, integer, double precision);
create function claim_executions(
  worker text, most integer, lease_seconds double precision, limits jsonb, share integer, busy_projects text[], busy_authors text[]
) returns setof task_executions
language plpgsql set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off set jit = off as $$
declare
  ids uuid[];
  strangers text[];
  this_hour timestamptz := date_trunc('hour', now(), 'UTC');
  this_day timestamptz := date_trunc('day', now(), 'UTC');
  this_month timestamptz := date_trunc('month', now(), 'UTC');
begin
  -- A claim that a crash of the server undoes has done nothing yet, so its commit need not wait for the disk. The write that
  -- goes before any effect does wait, for this one too. Without fsync (the embedded database) no commit waits, and this one would
  -- stay in the memory of the process.
  if current_setting('fsync')::boolean then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  select array_agg(d.id) into ids from (
    select x.id from task_executions x
    where x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
      and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running' offset 0)
      and not exists (
        select 1 from task_executions o where o.subject = x.subject and o.state = 'queued' and o.run_after <= now()
          and (o.created_at, o.id) < (x.created_at, x.id) offset 0)
    order by x.created_at, x.id limit most for update skip locked) d;
  if ids is null then
    return;
  end if;

  if share is not null and (
    exists (select 1 from (
      select x.source || ':' || x.project as key from task_executions x where x.id = any(ids) union all select unnest(busy_projects)
    ) p where key is not null group by key having count(*) > share)
    or exists (select 1 from (
      select x.author as key from task_executions x where x.id = any(ids) union all select unnest(busy_authors)
    ) a where key is not null group by key having count(*) > share)
  ) then
    select array_agg(d.id) into ids from (
      select x.id from task_executions x join (
        select w.id, w.n, w.of_project > share or w.of_author > share as is_late from (
          select q.id, row_number() over (order by q.created_at, q.id) as n,
            case when q.project is not null then row_number() over (partition by q.source, q.project order by q.created_at, q.id)
              + (select count(*) from unnest(busy_projects) b where b = q.source || ':' || q.project) else 0 end as of_project,
            case when q.author is not null then row_number() over (partition by q.author order by q.created_at, q.id)
              + (select count(*) from unnest(busy_authors) b where b = q.author) else 0 end as of_author
          from (
            select x.id, x.created_at, x.source, x.project, x.author from task_executions x
            where x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
              and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running' offset 0)
              and not exists (
                select 1 from task_executions o where o.subject = x.subject and o.state = 'queued' and o.run_after <= now()
                  and (o.created_at, o.id) < (x.created_at, x.id) offset 0)
            order by x.created_at, x.id limit 1000) q
        ) w order by (w.of_project > share or w.of_author > share), w.n limit most
      ) chosen on chosen.id = x.id
      where x.state = 'queued' and x.run_after <= now() order by chosen.is_late, chosen.n for update of x skip locked) d;
    if ids is null then
      return;
    end if;
  end if;

  -- Replicas count the runs of a stranger one after the other.
  strangers := array(
    select distinct 'author ' || x.author from task_executions x
    where x.id = any(ids) and x.author is not null and x.author_standing in ('contributor', 'none') order by 1);
  if cardinality(strangers) > 0 then
    insert into budget_usage (scope) select scope from unnest(strangers) scope order by scope on conflict do nothing;
    perform 1 from budget_usage u where u.scope = any(strangers) order by u.scope for update;
  end if;

  return query
    with due as (
      select x.id, x.attempts, x.subject, x.author, x.author_standing in ('contributor', 'none') as is_stranger,
        x.started_at is null as begins, x.released_at is not null as is_released, x.project_id,
        coalesce(x.agent_id, a.id) as agent_id, coalesce(nullif(b.policy, '{}'), nullif(a.policy, '{}')) as of_agent,
        nullif(p.policy, '{}') as of_project, row_number() over (partition by x.author order by x.created_at, x.id) as n
      from task_executions x
      left join tasks t on t.id = x.task_id and t.required_capabilities = '{}'
      left join agents a on a.id = t.actor_id and x.agent_id is null
      left join agents b on b.id = x.agent_id
      left join projects p on p.id = x.project_id
      where x.id = any(ids)
    ), judged as (
      select d.*, o.* from due d
      left join budget_usage i on i.scope = 'issue ' || d.subject
      left join budget_usage w on d.is_stranger and w.scope = 'author ' || d.author
      left join lateral (
        select v.member, v.used, v.value, v.until,
          case v.value when coalesce((limits->>v.member)::float8, 0) then 'settings'
            when coalesce((d.of_project->>v.member)::float8, 0) then 'project' else 'agent' end as level
        from (
          select 'issue_runs_per_hour' as member, case when i.hour = this_hour then i.hour_runs else 0 end::float8 as used,
            least(nullif((limits->>'issue_runs_per_hour')::float8, 0), nullif((d.of_project->>'issue_runs_per_hour')::float8, 0),
              nullif((d.of_agent->>'issue_runs_per_hour')::float8, 0)) as value, this_hour + interval '1 hour' as until
          where d.begins and d.subject is not null
          union all
          select 'issue_tokens_per_day', case when i.day = this_day then i.day_tokens else 0 end,
            least(nullif((limits->>'issue_tokens_per_day')::float8, 0), nullif((d.of_project->>'issue_tokens_per_day')::float8, 0),
              nullif((d.of_agent->>'issue_tokens_per_day')::float8, 0)), this_day + interval '1 day'
          where d.subject is not null
          union all
          select 'author_runs_per_hour', case when w.hour = this_hour then w.hour_runs else 0 end + d.n - 1,
            least(nullif((limits->>'author_runs_per_hour')::float8, 0), nullif((d.of_project->>'author_runs_per_hour')::float8, 0),
              nullif((d.of_agent->>'author_runs_per_hour')::float8, 0)), this_hour + interval '1 hour'
          where d.begins and d.is_stranger and d.author is not null
          union all
          select m.member, case m.member
              when 'day_tokens' then case when u.day = this_day then u.day_tokens else 0 end
              when 'day_usd' then case when u.day = this_day then u.day_usd else 0 end
              else case when u.month = this_month then u.month_usd else 0 end end,
            (s.policy->>m.member)::float8,
            case when m.member = 'month_usd' then (date_trunc('month', now() at time zone 'UTC') + interval '1 month') at time zone 'UTC'
              else this_day + interval '1 day' end
          from (values ('service', limits), ('project ' || d.project_id, d.of_project), ('agent ' || d.agent_id, d.of_agent)) s (scope, policy)
          cross join (values ('day_tokens'), ('day_usd'), ('month_usd')) m (member)
          join budget_usage u on u.scope = s.scope
          where (s.policy->>m.member)::float8 > 0
        ) v where v.used >= v.value order by v.until desc limit 1
      ) o on not d.is_released
    ), claimed as (
      update task_executions e set
        state = case when j.member is null then 'running' else 'held' end,
        attempts = e.attempts + case when j.member is null then 1 else 0 end,
        offered_to = null,
        started_at = case when j.member is null then coalesce(e.started_at, now()) else e.started_at end,
        lease = case when j.member is null then worker || ':' || (e.attempts + 1) end,
        lease_expires_at = case when j.member is null then now() + make_interval(secs => lease_seconds) end,
        agent_id = j.agent_id,
        waiting_for = case when j.member is not null then 'the budget ' || j.member end,
        held_until = j.until,
        held_reason = case when j.member is not null then budget_reason(j.member, j.used, j.value, j.level, j.until) end
      from judged j where e.id = j.id
      returning e.*
    ), counted as (
      select add_usage(array_remove(array['issue ' || j.subject, case when j.is_stranger then 'author ' || j.author end], null), 1, 0, 0)
      from judged j where j.member is null and j.begins and (j.subject is not null or j.is_stranger) order by j.subject
    )
    select c.* from claimed c where (select count(*) from counted) >= 0;
end
$$;

-- Why a budget holds an execution, as people read it.
create function budget_reason(member text, used double precision, value double precision, level text, until timestamptz)
returns text language sql immutable as $$
  select case
      when member like '%\_usd' then to_char(used, 'FM999999990.00##') || ' US dollars were spent'
      when member like '%runs%' then used::bigint || ' runs have begun'
      else used::bigint || ' tokens were used' end
    || case member
      when 'issue_runs_per_hour' then ' on this issue in this hour'
      when 'author_runs_per_hour' then ' for this author in this hour'
      when 'issue_tokens_per_day' then ' on this issue today'
      when 'month_usd' then case level when 'settings' then ' this month' else ' by the ' || level || ' this month' end
      else case level when 'settings' then ' today' else ' by the ' || level || ' today' end end
    || ', and the limit is ' || case when member like '%\_usd' then to_char(value, 'FM999999990.00##') else value::bigint::text end
    || ' (' || case level when 'settings' then 'BUDGET_' || upper(member) || ' in the settings' else member || ' in the policy of the ' || level end
    || ')'
$$;
