-- With 20,000 executions that wait for a breaker, or are paused, a claim took seconds: it looked up for each of them what keeps it
-- back. Now that is read once for a claim. Queued executions with the same need, source, project, agent and task form a lane; a claim looks
-- at lanes, and into those that may run. While no breaker is open and nothing is paused it walks the queue as before.

-- Key of the breaker that would keep an execution from going on, unless a connected agent takes it: see blocking_key.
create function need_of(x task_executions) returns text language sql immutable as $$
  select coalesce(x.blocked_by, case when x.started_at is null then 'model' else '' end)
$$;
create index task_executions_queued_lane on task_executions (
  coalesce(blocked_by, case when started_at is null then 'model' else '' end), source, coalesce(project_id, 0), coalesce(agent_id, ''), task_id, created_at, id
) where state = 'queued';

create function queue_blocks(
  -- Open breakers, and the probe of each.
  out open_keys text[], out probes uuid[],
  -- Agents that are connected, their tasks, and the tasks that any agent with the capabilities may take.
  out served_agents text[], out served_tasks text[], out capable_tasks text[],
  -- What is paused. `paused_tasks`: those of paused agents.
  out paused_sources text[], out paused_projects text[], out paused_agents text[], out paused_tasks text[], out is_stopped boolean
) language plpgsql stable as $$
begin
  select coalesce(array_agg(b.key order by b.key), '{}'), coalesce(array_agg(b.probe order by b.key), '{}') into open_keys, probes from breakers b;
  served_agents := array(select distinct s.agent_id from agent_streams s where s.expires_at > now());
  served_tasks := '{}';
  capable_tasks := '{}';
  if served_agents <> '{}' then
    served_tasks := array(select t.id from tasks t where t.actor_id = any(served_agents));
    capable_tasks := array(select t.id from tasks t where t.required_capabilities <> '{}');
  end if;
  paused_sources := array(select p.id from pauses p where p.scope = 'source');
  paused_projects := array(select p.id from pauses p where p.scope = 'project');
  paused_agents := array(select p.id from pauses p where p.scope = 'agent');
  paused_tasks := '{}';
  if paused_agents <> '{}' then
    paused_tasks := array(select t.id from tasks t where t.actor_id = any(paused_agents));
  end if;
  is_stopped := exists (select from pauses p where p.scope = 'all');
end $$;

-- What pause_of and is_blocked say, by what queue_blocks has read. One expression, so that it becomes a part of the query.
create function is_kept_back(
  x task_executions, open_keys text[], probes uuid[], served_agents text[], served_tasks text[], capable_tasks text[],
  paused_sources text[], paused_projects text[], paused_agents text[], paused_tasks text[]
) returns boolean language sql immutable as $$
  select coalesce(need_of(x) = any(open_keys) and probes[array_position(open_keys, need_of(x))] is distinct from x.id
      and not (x.blocked_by is null and x.started_at is null
        and (x.task_id = any(capable_tasks) or coalesce(x.agent_id = any(served_agents), x.task_id = any(served_tasks)))), false)
    or x.source = any(paused_sources) or coalesce(x.project_id::text = any(paused_projects), false)
    or coalesce(x.agent_id = any(paused_agents), x.task_id = any(paused_tasks))
$$;

-- Queued executions that may run now, oldest first, while breakers are open or something is paused. It looks into
-- each lane that may run, and at the probes.
create function claimable_executions(most integer) returns table (id uuid, created_at timestamptz, source text, project text, author text)
language plpgsql rows 10 set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
  open_keys text[];
  probes uuid[];
  served_agents text[];
  served_tasks text[];
  capable_tasks text[];
  paused_sources text[];
  paused_projects text[];
  paused_agents text[];
  paused_tasks text[];
  is_stopped boolean;
begin
  select b.* into open_keys, probes, served_agents, served_tasks, capable_tasks, paused_sources, paused_projects, paused_agents,
    paused_tasks, is_stopped from queue_blocks() b;
  if is_stopped then
    return;
  end if;
  return query
    -- A range and this order, not equality: so there is one index only that the planner can walk.
    with recursive lanes as (
      (select need_of(x) as need, x.source, coalesce(x.project_id, 0) as project_id, coalesce(x.agent_id, '') as agent_id, x.task_id
        from task_executions x where x.state = 'queued' order by 1, 2, 3, 4, 5 limit 1)
      union all
      select n.* from lanes l cross join lateral (
        select need_of(x) as need, x.source, coalesce(x.project_id, 0) as project_id, coalesce(x.agent_id, '') as agent_id, x.task_id
          from task_executions x
        where x.state = 'queued' and (need_of(x), x.source, coalesce(x.project_id, 0), coalesce(x.agent_id, ''), x.task_id)
          > (l.need, l.source, l.project_id, l.agent_id, l.task_id)
        order by 1, 2, 3, 4, 5 limit 1) n
    ), free as (
      select l.* from lanes l
      where (l.need <> all(open_keys) or (l.need = 'model' and served_agents <> '{}'))
        and l.source <> all(paused_sources) and l.project_id::text <> all(paused_projects)
        and not case l.agent_id when '' then l.task_id = any(paused_tasks) else l.agent_id = any(paused_agents) end
    ), found as (
      select c.* from free l cross join lateral (
        select x.id, x.created_at, x.source, x.project, x.author from task_executions x
        where x.state = 'queued' and (need_of(x), x.source, coalesce(x.project_id, 0), coalesce(x.agent_id, ''), x.task_id)
          >= (l.need, l.source, l.project_id, l.agent_id, l.task_id)
          and (need_of(x), x.source, coalesce(x.project_id, 0), coalesce(x.agent_id, ''), x.task_id)
          <= (l.need, l.source, l.project_id, l.agent_id, l.task_id)
          and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
          and not is_kept_back(x, open_keys, probes, served_agents, served_tasks, capable_tasks,
            paused_sources, paused_projects, paused_agents, paused_tasks)
          and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running' offset 0)
          and not exists (
            select 1 from task_executions o where o.subject = x.subject and o.state = 'queued' and o.run_after <= now()
              and not is_kept_back(o, open_keys, probes, served_agents, served_tasks, capable_tasks,
                paused_sources, paused_projects, paused_agents, paused_tasks)
              and (o.created_at, o.id) < (x.created_at, x.id) offset 0)
        order by need_of(x), x.source, coalesce(x.project_id, 0), coalesce(x.agent_id, ''), x.task_id, x.created_at, x.id limit most) c
      union
      select x.id, x.created_at, x.source, x.project, x.author from task_executions x
      where x.id = any(probes) and x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
        and not is_kept_back(x, open_keys, probes, served_agents, served_tasks, capable_tasks,
          paused_sources, paused_projects, paused_agents, paused_tasks)
        and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running' offset 0)
        and not exists (
          select 1 from task_executions o where o.subject = x.subject and o.state = 'queued' and o.run_after <= now()
            and not is_kept_back(o, open_keys, probes, served_agents, served_tasks, capable_tasks,
              paused_sources, paused_projects, paused_agents, paused_tasks)
            and (o.created_at, o.id) < (x.created_at, x.id) offset 0)
    )
    select f.id, f.created_at::timestamptz, f.source, f.project, f.author from found f order by f.created_at, f.id limit most;
end $$;

-- When the next queued execution that nothing keeps back is due.
create function next_execution_due() returns timestamptz
language plpgsql set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off set jit = off as $$
declare
  open_keys text[];
  probes uuid[];
  served_agents text[];
  served_tasks text[];
  capable_tasks text[];
  paused_sources text[];
  paused_projects text[];
  paused_agents text[];
  paused_tasks text[];
  is_stopped boolean;
begin
  select b.* into open_keys, probes, served_agents, served_tasks, capable_tasks, paused_sources, paused_projects, paused_agents,
    paused_tasks, is_stopped from queue_blocks() b;
  if open_keys = '{}' and not is_stopped and paused_sources || paused_projects || paused_agents = '{}' then
    return (select min(greatest(x.run_after, x.offered_until)) from task_executions x where x.state = 'queued');
  end if;
  if is_stopped then
    return null;
  end if;
  return (
    with recursive lanes as (
      (select need_of(x) as need, x.source, coalesce(x.project_id, 0) as project_id, coalesce(x.agent_id, '') as agent_id, x.task_id
        from task_executions x where x.state = 'queued' order by 1, 2, 3, 4, 5 limit 1)
      union all
      select n.* from lanes l cross join lateral (
        select need_of(x) as need, x.source, coalesce(x.project_id, 0) as project_id, coalesce(x.agent_id, '') as agent_id, x.task_id
          from task_executions x
        where x.state = 'queued' and (need_of(x), x.source, coalesce(x.project_id, 0), coalesce(x.agent_id, ''), x.task_id)
          > (l.need, l.source, l.project_id, l.agent_id, l.task_id)
        order by 1, 2, 3, 4, 5 limit 1) n
    ), free as (
      select l.* from lanes l
      where (l.need <> all(open_keys) or (l.need = 'model' and served_agents <> '{}'))
        and l.source <> all(paused_sources) and l.project_id::text <> all(paused_projects)
        and not case l.agent_id when '' then l.task_id = any(paused_tasks) else l.agent_id = any(paused_agents) end
    )
    select least(
      (select min(c.due) from free l cross join lateral (
        select greatest(x.run_after, x.offered_until) as due from task_executions x
        where x.state = 'queued' and (need_of(x), x.source, coalesce(x.project_id, 0), coalesce(x.agent_id, ''), x.task_id)
          >= (l.need, l.source, l.project_id, l.agent_id, l.task_id)
          and (need_of(x), x.source, coalesce(x.project_id, 0), coalesce(x.agent_id, ''), x.task_id)
          <= (l.need, l.source, l.project_id, l.agent_id, l.task_id)
          and not is_kept_back(x, open_keys, probes, served_agents, served_tasks, capable_tasks,
            paused_sources, paused_projects, paused_agents, paused_tasks)
        order by need_of(x), x.source, coalesce(x.project_id, 0), coalesce(x.agent_id, ''), x.task_id, x.created_at, x.id offset 0) c),
      (select min(greatest(x.run_after, x.offered_until)) from task_executions x
        where x.id = any(probes) and x.state = 'queued' and not is_kept_back(x, open_keys, probes, served_agents, served_tasks, capable_tasks,
          paused_sources, paused_projects, paused_agents, paused_tasks))));
end $$;

create or replace function claim_executions(
  worker text, most integer, lease_seconds double precision, limits jsonb, share integer, busy_projects text[], busy_authors text[]
) returns setof task_executions
language plpgsql set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off set jit = off as $$
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
  -- While nothing is kept back, the queue is walked in its order.
  if is_clear then
    select array_agg(d.id) into ids from (
      select x.id from task_executions x
      where x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
        and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running' offset 0)
        and not exists (
          select 1 from task_executions o where o.subject = x.subject and o.state = 'queued' and o.run_after <= now()
            and (o.created_at, o.id) < (x.created_at, x.id) offset 0)
      order by x.created_at, x.id limit most for update skip locked) d;
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
              (select x.id, x.created_at, x.source, x.project, x.author from task_executions x
              where is_clear and x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
                and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running' offset 0)
                and not exists (
                  select 1 from task_executions o where o.subject = x.subject and o.state = 'queued' and o.run_after <= now()
                    and (o.created_at, o.id) < (x.created_at, x.id) offset 0)
              order by x.created_at, x.id limit 1000)
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
