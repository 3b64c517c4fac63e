-- A claim costs what it takes, however much waits: a million executions on three issues, or on a hundred thousand.
--
-- `plan_cache_mode`: a session plans the statements of a claim once. PostgreSQL would plan them anew for each claim, because
-- the settings that forbid a scan make every general plan look dear; that took two thirds of the time of a claim.

-- What may run now while no breaker is open and nothing is paused (else: claimable_executions), at most `most` of it, oldest first: of each subject the oldest that is due, and none of a subject that runs.
--
-- It looks at the oldest `reach` of what is queued. Where a few subjects have all of that, it goes from subject to subject, from
-- a random one on, so that none of them waits for ever behind a long one. It looks at everything that waits only if it has found
-- nothing yet and has not seen every subject.
create function claim_candidates(most integer, reach integer) returns uuid[]
language plpgsql set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  visits constant integer := 256;
  last_at timestamptz;
  last_id uuid;
  any_time timestamptz;
  ids uuid[];
  beginning text;
  here text;
  following text;
  is_round boolean := false;
  is_all boolean := false;
begin
  select q.created_at, q.id into last_at, last_id from task_executions q
  where q.state = 'queued' order by q.created_at, q.id offset reach limit 1;
  for attempt in 1..2 loop
    select array_agg(d.id) into ids from (
      select x.id from task_executions x
      where x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
        and (x.created_at, x.id) <= (coalesce(last_at, 'infinity'), coalesce(last_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
        and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running' offset 0)
        and not exists (
          select 1 from task_executions o where o.subject = x.subject and o.state = 'queued' and o.run_after <= now()
            and (o.created_at, o.id) < (x.created_at, x.id) offset 0)
      order by x.created_at, x.id limit most) d;
    if last_id is null or cardinality(ids) >= most then
      return ids;
    end if;

    select q.created_at into any_time from task_executions q where q.state = 'queued' order by q.created_at, q.id limit 1;
    any_time := any_time + random() * (now() - any_time);
    select q.subject into beginning from task_executions q
    where q.state = 'queued' and q.created_at >= any_time order by q.created_at, q.id limit 1;
    beginning := coalesce(beginning, '');
    here := beginning;
    -- Those of no subject have the last place in the index, all together.
    ids := coalesce(ids, '{}') || array(
      select x.id from task_executions x
      where x.state = 'queued' and x.subject is null and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
        and (x.created_at, x.id) > (last_at, last_id)
      order by x.subject, x.created_at, x.id limit most);
    for visit in 1..visits loop
      select q.subject into following from task_executions q
      where q.state = 'queued' and q.subject > here order by q.subject limit 1;
      if following is null and not is_round then
        is_round := true;
        select q.subject into following from task_executions q
        where q.state = 'queued' and q.subject is not null order by q.subject limit 1;
      end if;
      if following is null or (is_round and following > beginning) then
        is_all := true;
        exit;
      end if;
      here := following;
      ids := ids || array(
        select h.id from (
          select x.id, x.created_at, x.offered_to, x.offered_until from task_executions x
          where x.subject = here and x.state = 'queued' and x.run_after <= now()
          order by x.created_at, x.id limit 1) h
        where (h.offered_to is null or h.offered_until <= now()) and (h.created_at, h.id) > (last_at, last_id)
          and not exists (select 1 from task_executions r where r.subject = here and r.state = 'running' offset 0));
    end loop;
    exit when is_all or cardinality(ids) > 0;
    last_at := null;
    last_id := null;
  end loop;
  return array(
    select x.id from unnest(ids) c (id)
    cross join lateral (select q.id, q.created_at from task_executions q where q.id = c.id offset 0) x
    order by x.created_at, x.id limit most);
end
$$;

create or replace function claim_executions(
  worker text, most integer, lease_seconds double precision, limits jsonb, share integer, busy_projects text[], busy_authors text[]
) returns setof task_executions
language plpgsql set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  ids uuid[];
  candidate uuid;
  strangers text[];
  is_clear boolean := not exists (select from breakers) and not exists (select from pauses);
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
  -- What follows sees all that is stored by those whose lock it waits for.
  lock table task_executions in row share mode;
  -- While nothing is kept back, the queue is walked in its order.
  if is_clear then
    ids := claim_candidates(2 * most + 8, 64 + 4 * most);
    select array_agg(d.id) into ids from (
      select x.id from unnest(ids) with ordinality u (id, n) join task_executions x on x.id = u.id
      where x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
      order by u.n limit most for update of x skip locked) d;
  else
    -- One by one, until there are enough: a join reads the whole queue where the planner knows nothing of it.
    for candidate in select c.id from claimable_executions(most * 4 + 100) c order by c.created_at, c.id loop
      exit when cardinality(ids) = most;
      perform 1 from task_executions x where x.id = candidate and x.state = 'queued' and x.run_after <= now()
        and (x.offered_to is null or x.offered_until <= now()) for update skip locked;
      if found then
        ids := array_append(ids, candidate);
      end if;
    end loop;
  end if;
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
              select x.id, x.created_at, x.source, x.project, x.author
              from unnest(case when is_clear then claim_candidates(1000, 1500) end) c (id)
              cross join lateral (select e.* from task_executions e where e.id = c.id offset 0) x
              union all
              select c.id, c.created_at, c.source, c.project, c.author from claimable_executions(1000) c where not is_clear) q
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

-- In plpgsql a session plans it once; a function in SQL is planned by each statement that calls it.
create or replace function add_usage(given text[], runs integer, tokens bigint, usd double precision) returns void language plpgsql as $$
begin
  insert into budget_usage as u (scope, hour_runs, day_tokens, day_usd, month_usd)
  select scope, runs, tokens, usd, usd from unnest(given) scope order by scope
  on conflict (scope) do update set
    hour_runs = case when u.hour = excluded.hour then u.hour_runs else 0 end + excluded.hour_runs, hour = excluded.hour,
    day_tokens = case when u.day = excluded.day then u.day_tokens else 0 end + excluded.day_tokens,
    day_usd = case when u.day = excluded.day then u.day_usd else 0 end + excluded.day_usd, day = excluded.day,
    month_usd = case when u.month = excluded.month then u.month_usd else 0 end + excluded.month_usd, month = excluded.month;
end
$$;

-- When the next one is due that waits for a time: what is queued at once is not in it, and costs nothing.
create index task_executions_due on task_executions (run_after) where state = 'queued' and run_after > created_at;

-- Of what is due the first one tells it; the others wait for a time that an index has. It read all that was queued.
do $do$
declare
  given text := pg_get_functiondef('next_execution_due'::regproc);
  changed text := replace(given, $old$return (select min(greatest(x.run_after, x.offered_until)) from task_executions x where x.state = 'queued');$old$,
    $new$return least(
      (select x.run_after from task_executions x
        where x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
        order by x.created_at, x.id limit 1),
      (select min(x.run_after) from task_executions x where x.state = 'queued' and x.run_after > x.created_at and x.run_after > now()),
      (select min(x.offered_until) from task_executions x where x.state = 'queued' and x.offered_to is not null and x.offered_until > now()));$new$);
begin
  if changed = given then raise exception 'next_execution_due does not look for the next one as this migration expects'; end if;
  execute changed;
end $do$;
