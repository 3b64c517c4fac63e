-- Generated from migrations/ by `npm run generate`. Do not edit.
-- Made from 2e14aabdcbcbc4e2

create extension if not exists vector;

set check_function_bodies = off;

CREATE OR REPLACE FUNCTION add_usage(given text[], runs integer, tokens bigint, usd double precision)
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  insert into budget_usage as u (scope, hour_runs, day_tokens, day_usd, month_usd)
  select scope, runs, tokens, usd, usd from unnest(given) scope order by scope
  on conflict (scope) do update set
    hour_runs = case when u.hour = excluded.hour then u.hour_runs else 0 end + excluded.hour_runs, hour = excluded.hour,
    day_tokens = case when u.day = excluded.day then u.day_tokens else 0 end + excluded.day_tokens,
    day_usd = case when u.day = excluded.day then u.day_usd else 0 end::numeric + excluded.day_usd::numeric, day = excluded.day,
    month_usd = case when u.month = excluded.month then u.month_usd else 0 end::numeric + excluded.month_usd::numeric, month = excluded.month;
end
$function$
;

CREATE OR REPLACE FUNCTION add_usages(scopes text[], runs integer[], tokens bigint[], usd double precision[])
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  insert into budget_usage as u (scope, hour_runs, day_tokens, day_usd, month_usd)
  select g.scope, g.runs, g.tokens, g.usd, g.usd from unnest(scopes, runs, tokens, usd) g (scope, runs, tokens, usd) order by g.scope
  on conflict (scope) do update set
    hour_runs = case when u.hour = excluded.hour then u.hour_runs else 0 end + excluded.hour_runs, hour = excluded.hour,
    day_tokens = case when u.day = excluded.day then u.day_tokens else 0 end + excluded.day_tokens,
    day_usd = case when u.day = excluded.day then u.day_usd else 0 end::numeric + excluded.day_usd::numeric, day = excluded.day,
    month_usd = case when u.month = excluded.month then u.month_usd else 0 end::numeric + excluded.month_usd::numeric, month = excluded.month;
end
$function$
;

CREATE OR REPLACE FUNCTION append_to_audit_log(entries text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  head record;
  entry text;
  next bytea;
begin
  select * into head from audit_head for update;
  foreach entry in array entries loop
    next := sha256(head.hash || convert_to(entry, 'UTF8'));
    head.seq := head.seq + 1;
    insert into audit_log (seq, created_at, entry, previous_hash, hash)
      values (head.seq, (entry::json ->> 'at')::timestamptz, entry::json, head.hash, next);
    head.hash := next;
  end loop;
  update audit_head set seq = head.seq, hash = head.hash;
end $function$
;

CREATE OR REPLACE FUNCTION budget_reason(member text, used double precision, value double precision, level text, until timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case
      when member like '%\_usd' then to_char(used, 'FM999999990.00999999') || ' US dollars were spent'
      when member like '%runs%' then used::bigint || case used::bigint when 1 then ' run has begun' else ' runs have begun' end
      else used::bigint || case used::bigint when 1 then ' token was used' else ' tokens were used' end end
    || case member
      when 'issue_runs_per_hour' then ' on this issue in this hour'
      when 'author_runs_per_hour' then ' for this author in this hour'
      when 'issue_tokens_per_day' then ' on this issue today'
      when 'month_usd' then case level when 'settings' then ' this month' else ' by the ' || level || ' this month' end
      else case level when 'settings' then ' today' else ' by the ' || level || ' today' end end
    || ', and the limit is ' || case when member like '%\_usd' then to_char(value, 'FM999999990.00999999') else value::bigint::text end
    || ' (' || case level when 'settings' then 'BUDGET_' || upper(member) || ' in the settings' else member || ' in the policy of the ' || level end
    || ')'
$function$
;

CREATE OR REPLACE FUNCTION charge_reservation(execution uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  left_behind budget_reservations;
begin
  delete from budget_reservations where execution_id = execution returning * into left_behind;
  if found then
    perform add_usage(left_behind.scopes, 0, left_behind.tokens, left_behind.usd);
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION claim_candidates(most integer, reach integer)
 RETURNS uuid[]
 LANGUAGE plpgsql
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
        and (
          select r.id from task_executions r where r.state = 'running' and r.subject >= x.subject and r.subject <= x.subject
          order by r.subject limit 1) is null
        and (
          select f.id from (select o.id, o.created_at from task_executions o where o.state = 'queued' and o.run_after <= now() and o.subject >= x.subject
            and o.subject <= x.subject
          order by o.subject, o.created_at, o.id limit 1) f
            where (f.created_at, f.id) < (x.created_at, x.id)) is null
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
          where x.state = 'queued' and x.run_after <= now() and x.subject >= here and x.subject <= here
          order by x.subject, x.created_at, x.id limit 1) h
        where (h.offered_to is null or h.offered_until <= now()) and (h.created_at, h.id) > (last_at, last_id)
          and (
            select r.id from task_executions r where r.state = 'running' and r.subject >= here and r.subject <= here
            order by r.subject limit 1) is null);
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
$function$
;

CREATE OR REPLACE FUNCTION claimable_executions(most integer)
 RETURNS TABLE(id uuid, created_at timestamp with time zone, source text, project text, author text)
 LANGUAGE plpgsql
 ROWS 10
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
          and (
          select r.id from task_executions r where r.state = 'running' and r.subject >= x.subject and r.subject <= x.subject
          order by r.subject limit 1) is null
          and (
            select f.id from (select o.id, o.created_at from task_executions o where o.subject >= x.subject
            and o.subject <= x.subject and o.state = 'queued' and o.run_after <= now()
              and not is_kept_back(o, open_keys, probes, served_agents, served_tasks, capable_tasks,
                paused_sources, paused_projects, paused_agents, paused_tasks)
          order by o.subject, o.created_at, o.id limit 1) f
            where (f.created_at, f.id) < (x.created_at, x.id)) is null
        order by need_of(x), x.source, coalesce(x.project_id, 0), coalesce(x.agent_id, ''), x.task_id, x.created_at, x.id limit most) c
      union
      select x.id, x.created_at, x.source, x.project, x.author from task_executions x
      where x.id = any(probes) and x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
        and not is_kept_back(x, open_keys, probes, served_agents, served_tasks, capable_tasks,
          paused_sources, paused_projects, paused_agents, paused_tasks)
        and (
          select r.id from task_executions r where r.state = 'running' and r.subject >= x.subject and r.subject <= x.subject
          order by r.subject limit 1) is null
        and (
          select f.id from (select o.id, o.created_at from task_executions o where o.subject >= x.subject
            and o.subject <= x.subject and o.state = 'queued' and o.run_after <= now()
            and not is_kept_back(o, open_keys, probes, served_agents, served_tasks, capable_tasks,
              paused_sources, paused_projects, paused_agents, paused_tasks)
          order by o.subject, o.created_at, o.id limit 1) f
            where (f.created_at, f.id) < (x.created_at, x.id)) is null
    )
    select f.id, f.created_at::timestamptz, f.source, f.project, f.author from found f order by f.created_at, f.id limit most;
end $function$
;

CREATE OR REPLACE FUNCTION claimed_with(execution uuid, event uuid, task text, agent text)
 RETURNS TABLE(place json, origin json, task_version text, agent_version text, probes text)
 LANGUAGE plpgsql
AS $function$
begin
  return query
    select
      case when w.id is not null then json_build_object('private', w.private, 'thread', w.thread, 'comment', w.comment,
        'incomplete', w.incomplete, 'traceparent', w.traceparent) end,
      case when w.id is not null then json_build_object('author', w.author, 'occurred_at', w.occurred_at,
        'received_at', w.received_at) end,
      (select t.xmin::text from tasks t where t.id = task),
      (select a.xmin::text from agents a where a.id = agent),
      (select b.key from breakers b where b.probe = execution limit 1)
    from (select) one left join webhook_events w on w.id = event;
end
$function$
;

CREATE OR REPLACE FUNCTION claimed_with(executions uuid[])
 RETURNS TABLE(id uuid, place json, origin json, task_version text, agent_version text, probes text)
 LANGUAGE plpgsql
 ROWS 100
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  return query
    select x.id,
      case when w.id is not null then json_build_object('private', w.private, 'thread', w.thread, 'comment', w.comment,
        'incomplete', w.incomplete, 'traceparent', w.traceparent) end,
      case when w.id is not null then json_build_object('author', w.author, 'occurred_at', w.occurred_at,
        'received_at', w.received_at) end,
      (select t.xmin::text from tasks t where t.id = x.task_id),
      (select a.xmin::text from agents a where a.id = x.agent_id),
      (select b.key from breakers b where b.probe = x.id limit 1)
    from task_executions x left join webhook_events w on w.id = x.event_id
    where x.id = any(executions);
end
$function$
;

CREATE OR REPLACE FUNCTION count_hops(subjects text[], window_seconds double precision, longest_write_seconds double precision)
 RETURNS TABLE(subject text, hops integer, answers uuid)
 LANGUAGE plpgsql
 ROWS 10
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  recent timestamptz := now() - make_interval(secs => window_seconds);
  first_write timestamptz := recent - make_interval(secs => longest_write_seconds);
begin
  if not exists (select from own_writes o where o.subject = any(subjects) and o.kind <> 'sign' and o.at > first_write)
    and not exists (select from subject_hops k where k.subject = any(subjects)) then
    return;
  end if;
  return query
    with touched as (
      select x.subject, w.at as written_at, w.execution_id, coalesce(greatest(w.at, w.done_at) > recent, false) as answers
      from (select distinct unnest(subjects) as subject) x left join lateral (
        select o.at, o.done_at, o.execution_id from own_writes o
        where o.subject = x.subject and o.kind <> 'sign' and o.at > first_write
        order by o.at desc limit 1
      ) w on true
    ), counted as (
      insert into subject_hops as h (subject, hops, event_at)
      select t.subject, case when t.answers then 1 else 0 end, now() from touched t
      where t.answers or exists (select 1 from subject_hops k where k.subject = t.subject)
      order by t.subject
      on conflict (subject) do update set event_at = now(), hops = case
        when exists (select 1 from touched t where t.subject = h.subject and t.answers and t.written_at > h.event_at) then h.hops + 1
        when h.event_at < recent and not exists (select 1 from touched t where t.subject = h.subject and t.answers) then 0
        else h.hops end
      returning subject, hops
    )
    select c.subject, c.hops, case when t.answers then t.execution_id end from counted c join touched t using (subject);
end $function$
;

CREATE OR REPLACE FUNCTION count_hops(subjects text[], occurred timestamp with time zone[], window_seconds double precision, longest_write_seconds double precision)
 RETURNS TABLE(subject text, hops integer, answers uuid)
 LANGUAGE plpgsql
 ROWS 10
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  within_window interval := make_interval(secs => window_seconds);
  recent timestamptz := now() - within_window;
  longest interval := within_window + make_interval(secs => longest_write_seconds);
  first_write timestamptz := least(now(), (select min(o.at) from unnest(occurred) as o (at))) - longest;
begin
  if not exists (select from own_writes o where o.subject = any(subjects) and o.kind <> 'sign' and o.at > first_write)
    and not exists (select from subject_hops k where k.subject = any(subjects)) then
    return;
  end if;
  return query
    with touched as (
      select x.subject, w.at as written_at, w.execution_id, w.at is not null as answers
      from (select u.subject, max(u.at) as occurred_at from unnest(subjects, occurred) as u (subject, at) group by u.subject) x
      left join lateral (
        select o.at, o.execution_id from own_writes o
        where o.subject = x.subject and o.kind <> 'sign' and o.at > least(now(), x.occurred_at) - longest
          and (greatest(o.at, o.done_at) > recent
            or x.occurred_at between o.at - interval '2 seconds' and greatest(o.at, o.done_at) + within_window)
        order by o.at desc limit 1
      ) w on true
    ), counted as (
      insert into subject_hops as h (subject, hops, event_at)
      select t.subject, case when t.answers then 1 else 0 end, now() from touched t
      where t.answers or exists (select 1 from subject_hops k where k.subject = t.subject)
      order by t.subject
      on conflict (subject) do update set event_at = now(), hops = case
        when exists (select 1 from touched t where t.subject = h.subject and t.answers and t.written_at > h.event_at) then h.hops + 1
        when h.event_at < recent and not exists (select 1 from touched t where t.subject = h.subject and t.answers) then 0
        else h.hops end
      returning subject, hops
    )
    select c.subject, c.hops, case when t.answers then t.execution_id end from counted c join touched t using (subject);
end $function$
;

CREATE OR REPLACE FUNCTION hold_on_retry()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.state in ('queued', 'held') then
    if new.state = 'queued' then
      insert into execution_history (execution_id, event, attempts, agent_id, detail, created_at) values
        (old.id, case when new.failures > old.failures then 'execution.retried' else 'execution.interrupted' end, old.attempts,
          new.agent_id, case when new.failures > old.failures then new.error end, now());
    end if;
    new.state := 'held';
    new.error := null;
    new.held_reason := new.hold_on_retry;
    new.held_until := null;
    new.waiting_for := 'a release by an operator';
    new.offered_to := null;
    new.offered_until := null;
  end if;
  new.hold_on_retry := null;
  return new;
end $function$
;

CREATE OR REPLACE FUNCTION is_used_up(of_scope text, policy jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (
    select from budget_usage u where u.scope = of_scope and (
      case when u.day = date_trunc('day', now(), 'UTC') then u.day_tokens else 0 end
        >= nullif((policy->>(case when of_scope like 'issue %' then 'issue_tokens_per_day' else 'day_tokens' end))::float8, 0)
      or case when u.day = date_trunc('day', now(), 'UTC') then u.day_usd else 0 end >= nullif((policy->>'day_usd')::float8, 0)
      or case when u.month = date_trunc('month', now(), 'UTC') then u.month_usd else 0 end >= nullif((policy->>'month_usd')::float8, 0)))
$function$
;

CREATE OR REPLACE FUNCTION keep_execution_history()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.state = 'held' or old.state = 'held' then
    insert into execution_history (execution_id, event, attempts, agent_id, detail, created_at) values
      (new.id, case when new.state = 'held' then 'execution.held' else 'execution.released' end, new.attempts,
        coalesce(new.agent_id, (select a.id from tasks t join agents a on a.id = t.actor_id where t.id = new.task_id)),
        case when new.state = 'held' then new.held_reason else old.held_reason end, now());
  elsif old.state = 'failed' then
    insert into execution_history (execution_id, event, attempts, agent_id, detail, duration_ms, created_at) values
      (old.id, 'execution.failed', old.attempts, old.agent_id, old.error,
        (extract(epoch from old.finished_at - old.started_at) * 1000)::bigint, coalesce(old.finished_at, now())),
      (old.id, 'execution.restarted', old.attempts, old.agent_id, null, null, now());
  else
    insert into execution_history (execution_id, event, attempts, agent_id, detail, created_at) values
      (old.id, case when new.failures > old.failures then 'execution.retried' else 'execution.interrupted' end, old.attempts,
        new.agent_id, case when new.failures > old.failures then new.error end, now());
  end if;
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION next_execution_due()
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
    return least(
      (select x.run_after from task_executions x
        where x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
        order by x.created_at, x.id limit 1),
      (select min(x.run_after) from task_executions x where x.state = 'queued' and x.run_after > x.created_at and x.run_after > now()),
      (select min(x.offered_until) from task_executions x where x.state = 'queued' and x.offered_to is not null and x.offered_until > now()));
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
end $function$
;

CREATE OR REPLACE FUNCTION order_snapshots()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if not new.polled then
    perform pg_advisory_xact_lock(7160415, hashtext(new.subject));
  end if;
  if new.replay_of is null and exists (
    select 1 from webhook_events e where e.subject = new.subject and e.snapshot and e.occurred_at > new.occurred_at and e.outcome = 'dispatched'
  ) then
    new.outcome := 'discarded';
    new.reason := 'it reports an older state of the issue than an event that arrived before it';
  end if;
  return new;
end $function$
;

CREATE OR REPLACE FUNCTION queue_blocks(OUT open_keys text[], OUT probes uuid[], OUT served_agents text[], OUT served_tasks text[], OUT capable_tasks text[], OUT paused_sources text[], OUT paused_projects text[], OUT paused_agents text[], OUT paused_tasks text[], OUT is_stopped boolean)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION reject_proposals()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update execution_steps
  set state = 'rejected', decided_at = now(), decided_by = null,
    error = case when decided_at is null then 'The execution was cancelled.'
      else 'It was approved, but the execution was cancelled before it was written.' end
  where execution_id = new.id and state = 'proposed';
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION replace_snapshots()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  with locked as (
    select e.id from task_executions e where e.id in (
      select q.id from task_executions q where q.subject = new.subject and q.state = 'queued' and q.task_id = new.task_id and q.snapshot
      union all
      select h.id from task_executions h where h.subject = new.subject and h.state in ('held', 'waiting') and h.state = 'held'
        and h.task_id = new.task_id and h.snapshot
    ) and e.state in ('queued', 'held') and e.attempts = 0 order by e.id for update
  ), replaced as (
    update task_executions e set state = 'cancelled', finished_at = now(), reason = 'superseded by event ' || new.event_id,
      held_reason = null, held_until = null, waiting_for = null
    from locked l where e.id = l.id returning e.id, e.changes
  ), lines as (
    select line, min(at) as at from (
      select line, row_number() over (order by r.id, n) as at from replaced r, unnest(r.changes) with ordinality c (line, n)
      union all
      select line, 1000000 + n from unnest(new.changes) with ordinality c (line, n)
    ) every group by line
  )
  select coalesce(array_agg(line order by at), '{}') into new.changes from (select line, at from lines order by at desc limit 200) newest;
  return new;
end $function$
;

CREATE OR REPLACE FUNCTION reserve_budget(execution uuid, held_lease text, limits jsonb, of_project integer, of_agent text, request_tokens bigint, request_usd double precision)
 RETURNS TABLE(member text, level text, value double precision, used double precision, until timestamp with time zone, is_busy boolean)
 LANGUAGE plpgsql
AS $function$
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
      select scope, sum(r.tokens) as tokens, sum(r.usd::numeric) as usd from budget_reservations r, unnest(r.scopes) scope
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
    where s.used >= s.value or (s.reserved > 0 and s.used::numeric + s.reserved::numeric >= s.value::numeric)
    order by s.used < s.value, s.until desc limit 1;
  if not found then
    insert into budget_reservations values (execution, held_lease, of_scopes, request_tokens, request_usd);
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION settle_orphan(execution uuid, former_lease text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  left_behind budget_reservations;
begin
  perform 1 from budget_usage u
    where u.scope in (select unnest(r.scopes) from budget_reservations r where r.execution_id = execution)
    order by u.scope for update;
  delete from budget_reservations where execution_id = execution and lease = former_lease returning * into left_behind;
  if found then
    perform add_usage(left_behind.scopes, 0, left_behind.tokens, left_behind.usd);
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION show_sign()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into execution_signs (execution_id, sign)
  values (new.id, case new.state when 'waiting' then 'working' when 'succeeded' then 'done' when 'failed' then 'failed' end)
  on conflict (execution_id) do update
    set sign = excluded.sign, version = execution_signs.version + 1, due_at = now(), attempts = 0, looks = null;
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION skip_known_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.polled then
    perform pg_advisory_xact_lock(7160414, hashtext(new.slug));
    if exists (select 1 from webhook_events e where hashtext(e.change_key) = hashtext(new.change_key) and e.slug = new.slug
      and e.change_key = new.change_key) then
      return null;
    end if;
  else
    perform pg_advisory_xact_lock_shared(7160414, hashtext(new.slug));
    if exists (select 1 from webhook_events e where e.slug = new.slug and e.change_key = new.change_key and e.polled) then
      return null;
    end if;
  end if;
  return new;
end $function$
;

create table agent_capabilities (
  id integer generated always as identity not null,
  agent_id text not null,
  capability text not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint agent_capabilities_pkey PRIMARY KEY (id),
  constraint agent_capabilities_agent_id_capability_key UNIQUE (agent_id, capability)
);

create table agent_sessions (
  id_hash text not null,
  agent_id text not null,
  secret_hash text,
  client_version text,
  expires_at timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone default now() not null,
  key_hash text,
  constraint agent_sessions_pkey PRIMARY KEY (id_hash)
);
CREATE INDEX agent_sessions_agent ON agent_sessions USING btree (agent_id, expires_at);

create table agent_streams (
  id uuid not null,
  agent_id text not null,
  session_hash text not null,
  expires_at timestamp(3) with time zone not null,
  constraint agent_streams_pkey PRIMARY KEY (id)
);
CREATE INDEX agent_streams_agent ON agent_streams USING btree (agent_id, expires_at);

create table agents (
  id text not null,
  name text not null,
  role_id text not null,
  description text,
  prompt text not null,
  context text,
  identity text,
  responsibilities text[] default '{}'::text[] not null,
  constraints text[] default '{}'::text[] not null,
  communication_style text,
  model text,
  temperature double precision,
  allowed_tools text[],
  trust_level text default 'default'::text not null,
  auth_enabled boolean default false not null,
  auth_secret_hash text,
  last_used_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  policy jsonb default '{}'::jsonb not null,
  auth_secret_short boolean default false not null,
  constraint agents_pkey PRIMARY KEY (id)
);

create table api_keys (
  id integer generated always as identity not null,
  name text not null,
  key_hash bytea not null,
  hint text not null,
  scopes text[] not null,
  created_at timestamp(3) with time zone default now() not null,
  last_used_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  expires_at timestamp(3) with time zone,
  agent_ids text[],
  projects bigint[],
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_key_hash_key UNIQUE (key_hash)
);
CREATE UNIQUE INDEX api_keys_name ON api_keys USING btree (name) WHERE (revoked_at IS NULL);

create table audit_head (
  singleton boolean default true not null,
  seq bigint not null,
  hash bytea not null,
  removed_to bigint default 0 not null,
  constraint audit_head_pkey PRIMARY KEY (singleton),
  constraint audit_head_singleton_check CHECK (singleton)
);

create table audit_log (
  seq bigint not null,
  created_at timestamp(3) with time zone not null,
  entry json not null,
  actor text generated always as ((entry ->> 'actor'::text)) stored,
  operation text generated always as ((entry ->> 'operation'::text)) stored,
  object text generated always as ((entry ->> 'object'::text)) stored,
  previous_hash bytea not null,
  hash bytea not null,
  constraint audit_log_pkey PRIMARY KEY (seq)
);
CREATE INDEX audit_log_actor ON audit_log USING btree (actor, seq DESC);
CREATE INDEX audit_log_created ON audit_log USING btree (created_at);
CREATE INDEX audit_log_object ON audit_log USING btree (object, seq DESC);
CREATE INDEX audit_log_operation ON audit_log USING btree (operation, seq);

create table breakers (
  key text not null,
  name text not null,
  effect text not null,
  reason text not null,
  failures integer default 1 not null,
  opened_at timestamp(3) with time zone default now() not null,
  next_probe_at timestamp(3) with time zone not null,
  probe uuid,
  reported_at timestamp(3) with time zone default now() not null,
  constraint breakers_pkey PRIMARY KEY (key)
);

create table budget_reservations (
  execution_id uuid not null,
  lease text not null,
  scopes text[] not null,
  tokens bigint not null,
  usd double precision not null,
  constraint budget_reservations_pkey PRIMARY KEY (execution_id)
);

create table budget_usage (
  scope text not null,
  hour timestamp(3) with time zone default date_trunc('hour'::text, now(), 'UTC'::text) not null,
  hour_runs integer default 0 not null,
  day timestamp(3) with time zone default date_trunc('day'::text, now(), 'UTC'::text) not null,
  day_tokens bigint default 0 not null,
  day_usd double precision default 0 not null,
  month timestamp(3) with time zone default date_trunc('month'::text, now(), 'UTC'::text) not null,
  month_usd double precision default 0 not null,
  constraint budget_usage_pkey PRIMARY KEY (scope)
) with (fillfactor=70);
CREATE INDEX budget_usage_day ON budget_usage USING btree (day);

create table cancelled_for_erasure (
  execution_id uuid not null,
  cancelled_at timestamp(3) with time zone default now() not null,
  constraint cancelled_for_erasure_pkey PRIMARY KEY (execution_id)
);

create table console_sessions (
  token_hash bytea not null,
  key_hash bytea not null,
  created_at timestamp(3) with time zone default now() not null,
  expires_at timestamp(3) with time zone not null,
  constraint console_sessions_pkey PRIMARY KEY (token_hash)
);
CREATE INDEX console_sessions_expires ON console_sessions USING btree (expires_at);

create table document_chunks (
  id uuid not null,
  knowledge_source_id uuid not null,
  content text not null,
  metadata jsonb default '{}'::jsonb not null,
  chunk_index integer not null,
  words tsvector generated always as (to_tsvector('english'::regconfig, content)) stored,
  created_at timestamp(3) with time zone default now() not null,
  page_id text,
  constraint document_chunks_pkey PRIMARY KEY (id)
);
CREATE INDEX document_chunks_page ON document_chunks USING btree (knowledge_source_id, page_id, chunk_index);
CREATE INDEX document_chunks_words ON document_chunks USING gin (words);

create table embedding_settings (
  single boolean default true not null,
  installation uuid default gen_random_uuid() not null,
  model text,
  dimension integer,
  constraint embedding_settings_pkey PRIMARY KEY (single),
  constraint embedding_settings_single_check CHECK (single)
);

create table execution_history (
  execution_id uuid not null,
  event text not null,
  attempts integer not null,
  agent_id text,
  detail text,
  duration_ms bigint,
  created_at timestamp(3) with time zone not null,
  n bigint generated always as identity not null,
  constraint execution_history_pkey PRIMARY KEY (execution_id, event, attempts, n)
);
CREATE INDEX execution_history_agent ON execution_history USING btree (agent_id, created_at DESC);

create table execution_signs (
  execution_id uuid not null,
  sign text,
  version integer default 1 not null,
  due_at timestamp(3) with time zone default now() not null,
  attempts integer default 0 not null,
  shown text,
  lease text,
  lease_expires_at timestamp(3) with time zone,
  looks integer,
  constraint execution_signs_pkey PRIMARY KEY (execution_id)
);
CREATE INDEX execution_signs_due ON execution_signs USING btree (due_at);

create table execution_steps (
  id uuid not null,
  execution_id uuid,
  seq integer not null,
  agent_id text,
  kind text not null,
  state text not null,
  name text,
  key text,
  input json,
  output json,
  error text,
  prompt_tokens integer default 0 not null,
  completion_tokens integer default 0 not null,
  cost_usd double precision,
  duration_ms integer default 0 not null,
  created_at timestamp(3) with time zone default now() not null,
  chat_id uuid,
  in_flight_until timestamp with time zone,
  expires_at timestamp(3) with time zone,
  decided_by text,
  decided_at timestamp(3) with time zone,
  started_at timestamp(3) with time zone,
  ended_at timestamp(3) with time zone,
  packed bytea,
  packed_output bytea,
  constraint execution_steps_pkey PRIMARY KEY (id),
  constraint execution_steps_execution_id_seq_key UNIQUE (execution_id, seq)
) with (fillfactor=100);
CREATE INDEX execution_steps_agent ON execution_steps USING btree (agent_id, created_at DESC) WHERE (kind <> 'prompt'::text);
CREATE UNIQUE INDEX execution_steps_chat ON execution_steps USING btree (chat_id, seq) WHERE (chat_id IS NOT NULL);
CREATE INDEX execution_steps_proposed ON execution_steps USING btree (expires_at) WHERE ((state = 'proposed'::text) AND (decided_at IS NULL));
CREATE INDEX execution_steps_tools ON execution_steps USING btree (id) WHERE (kind = 'tool'::text);
CREATE INDEX execution_steps_tools_agent ON execution_steps USING btree (agent_id, id) WHERE (kind = 'tool'::text);
CREATE INDEX execution_steps_tools_state ON execution_steps USING btree (state, id) WHERE ((kind = 'tool'::text) AND (state <> 'succeeded'::text));
CREATE INDEX execution_steps_unattached ON execution_steps USING btree (created_at) WHERE (execution_id IS NULL);

create table hook_deliveries (
  source text not null,
  digest bytea not null,
  hook_id text not null,
  event_id uuid not null,
  received_at timestamp with time zone default now() not null,
  constraint hook_deliveries_pkey PRIMARY KEY (source, digest)
) with (fillfactor=70);

create table ingestion_jobs (
  id uuid not null,
  knowledge_source_id uuid not null,
  status text default 'queued'::text not null,
  pages_seen integer default 0 not null,
  pages_changed integer default 0 not null,
  pages_deleted integer default 0 not null,
  chunks_written integer default 0 not null,
  error text,
  cursor text,
  listed boolean default false not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp(3) with time zone default now() not null,
  lease uuid,
  lease_expires_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  constraint ingestion_jobs_pkey PRIMARY KEY (id),
  constraint ingestion_jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text])))
);
CREATE UNIQUE INDEX ingestion_jobs_open ON ingestion_jobs USING btree (knowledge_source_id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));
CREATE INDEX ingestion_jobs_source ON ingestion_jobs USING btree (knowledge_source_id, created_at DESC, id DESC);

create table integrations (
  id uuid not null,
  source text not null,
  name text not null,
  credentials text not null,
  members text[] not null,
  agent_id text,
  project_id integer,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  plugin text,
  constraint integrations_pkey PRIMARY KEY (id)
);

create table issue_names (
  source text not null,
  slug text not null,
  id text not null,
  project text not null,
  issue text not null,
  named_at timestamp(3) with time zone default now() not null,
  constraint issue_names_pkey PRIMARY KEY (source, slug, id)
);
CREATE INDEX issue_names_age ON issue_names USING btree (named_at);

create table issue_notices (
  id uuid not null,
  subject text not null,
  hour timestamp(3) with time zone default date_trunc('hour'::text, now(), 'UTC'::text) not null,
  source text not null,
  slug text not null,
  project_id integer,
  agent_id text,
  project text not null,
  issue text not null,
  private boolean default false not null,
  thread text,
  body text not null,
  attempts integer default 0 not null,
  due_at timestamp(3) with time zone default now(),
  lease text,
  lease_expires_at timestamp(3) with time zone,
  constraint issue_notices_pkey PRIMARY KEY (id),
  constraint issue_notices_subject_hour_key UNIQUE (subject, hour)
);
CREATE INDEX issue_notices_due ON issue_notices USING btree (due_at) WHERE (due_at IS NOT NULL);

create table knowledge_pages (
  knowledge_source_id uuid not null,
  page_id text not null,
  revision text,
  listed_revision text not null,
  listed_by uuid not null,
  constraint knowledge_pages_pkey PRIMARY KEY (knowledge_source_id, page_id)
);
CREATE INDEX knowledge_pages_waiting ON knowledge_pages USING btree (knowledge_source_id, page_id) WHERE (revision IS DISTINCT FROM listed_revision);

create table knowledge_sources (
  id uuid not null,
  name text not null,
  type text not null,
  config jsonb default '{}'::jsonb not null,
  project_id integer,
  enabled boolean default true not null,
  last_synced_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  secrets text,
  secret_members text[] default '{}'::text[] not null,
  constraint knowledge_sources_pkey PRIMARY KEY (id)
);

create table living_comments (
  subject text not null,
  agent text not null,
  place text not null,
  connection text not null,
  comment_id text,
  url text,
  key text,
  pending_key text,
  settled_by uuid,
  lease text,
  lease_expires_at timestamp(3) with time zone,
  lost_keys text[] default '{}'::text[] not null,
  constraint living_comments_pkey PRIMARY KEY (subject, agent, place, connection)
);

create table mcp_servers (
  id integer generated always as identity not null,
  name text not null,
  provider text not null,
  url text not null,
  agent_id text,
  status text default 'pending'::text not null,
  tools json default '[]'::json not null,
  last_error text,
  checked_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  approved json,
  constraint mcp_servers_pkey PRIMARY KEY (id),
  constraint mcp_servers_name_key UNIQUE (name),
  constraint mcp_servers_provider_key UNIQUE (provider)
);

create table memories (
  id uuid not null,
  key text not null,
  content text not null,
  scope text not null,
  agent_id text,
  project_id integer,
  task_id text,
  words tsvector generated always as (to_tsvector('english'::regconfig, content)) stored,
  expires_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint memories_pkey PRIMARY KEY (id),
  constraint memories_key_key UNIQUE (key)
);
CREATE INDEX memories_agent ON memories USING btree (agent_id, project_id) INCLUDE (scope) WHERE (agent_id IS NOT NULL);
CREATE INDEX memories_created ON memories USING btree (created_at DESC, id DESC);
CREATE INDEX memories_expires ON memories USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX memories_project ON memories USING btree (project_id, scope) WHERE (project_id IS NOT NULL);
CREATE INDEX memories_scope ON memories USING btree (scope, created_at DESC, id DESC);
CREATE INDEX memories_task ON memories USING btree (task_id) WHERE (task_id IS NOT NULL);
CREATE INDEX memories_words ON memories USING gin (words);

create table memory_authors (
  memory_id uuid not null,
  agent_id text not null,
  expires_at timestamp(3) with time zone,
  constraint memory_authors_pkey PRIMARY KEY (memory_id)
);
CREATE INDEX memory_authors_expiry ON memory_authors USING btree (expires_at) WHERE (expires_at IS NOT NULL);

create table memory_keys (
  key text not null,
  id uuid not null,
  store text not null,
  pending_until timestamp(3) with time zone,
  expires_at timestamp(3) with time zone,
  constraint memory_keys_pkey PRIMARY KEY (key)
);
CREATE INDEX memory_keys_expires ON memory_keys USING btree (expires_at) WHERE (expires_at IS NOT NULL);

create table memory_leases (
  name text not null,
  holder text not null,
  expires_at timestamp(3) with time zone not null,
  constraint memory_leases_pkey PRIMARY KEY (name)
);

create table migrations (
  id integer not null,
  name text not null,
  applied_at timestamp(3) with time zone default now() not null,
  digest text,
  constraint migrations_pkey PRIMARY KEY (id)
);

create table open_changes (
  id uuid not null,
  replica uuid not null,
  entry json not null,
  begun_at timestamp(3) with time zone default now() not null,
  constraint open_changes_pkey PRIMARY KEY (id)
);

create table own_writes (
  step_id uuid not null,
  execution_id uuid,
  subject text,
  mark text not null,
  kind text not null,
  digests text[] not null,
  ref text,
  at timestamp with time zone default now() not null,
  done_at timestamp with time zone,
  explained uuid,
  constraint own_writes_pkey PRIMARY KEY (step_id)
) with (fillfactor=50);
CREATE INDEX own_writes_mark ON own_writes USING btree (mark);
CREATE INDEX own_writes_subject ON own_writes USING btree (subject, at);

create unlogged table paces (
  key text not null,
  next_at timestamp with time zone not null,
  constraint paces_pkey PRIMARY KEY (key)
);

create table pauses (
  scope text not null,
  id text default ''::text not null,
  reason text not null,
  paused_by text not null,
  paused_at timestamp(3) with time zone default now() not null,
  constraint pauses_pkey PRIMARY KEY (scope, id)
);

create table pending_commands (
  event_id uuid not null,
  subject text not null,
  name text not null,
  rest text not null,
  first_effect jsonb,
  attempts integer default 0 not null,
  due_at timestamp(3) with time zone default now() not null,
  lease uuid,
  lease_expires_at timestamp(3) with time zone,
  constraint pending_commands_pkey PRIMARY KEY (event_id)
);
CREATE INDEX pending_commands_due ON pending_commands USING btree (due_at);
CREATE INDEX pending_commands_subject ON pending_commands USING btree (subject, event_id);

create table plugin_versions (
  plugin_id text not null,
  version text not null,
  sha256 text not null,
  manifest json not null,
  bundle bytea not null,
  origin text,
  integrity text,
  approved_at timestamp(3) with time zone,
  installed_at timestamp(3) with time zone default now() not null,
  publisher text,
  rolled_back_at timestamp with time zone,
  constraint plugin_versions_pkey PRIMARY KEY (plugin_id, version)
);

create table plugins (
  id text not null,
  version text,
  enabled boolean default false not null,
  settings text,
  quarantine_code text,
  quarantine_reason text,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  denied json,
  constraint plugins_pkey PRIMARY KEY (id)
);

create table poll_sources (
  id integer generated always as identity not null,
  source text not null,
  project_id text not null,
  interval_minutes integer not null,
  enabled boolean not null,
  since timestamp(3) with time zone,
  cursor text,
  last_polled_at timestamp(3) with time zone,
  last_error text,
  next_poll_at timestamp(3) with time zone not null,
  lease text,
  lease_expires_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint poll_sources_pkey PRIMARY KEY (id)
);
CREATE INDEX poll_sources_due ON poll_sources USING btree (next_poll_at) WHERE enabled;

create table previous_secret_uses (
  connection text not null,
  used_at timestamp(3) with time zone default now() not null,
  constraint previous_secret_uses_pkey PRIMARY KEY (connection)
);

create table projects (
  id integer generated always as identity not null,
  name text not null,
  description text,
  source text not null,
  source_project_id text not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  policy jsonb default '{}'::jsonb not null,
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_source_source_project_id_key UNIQUE (source, source_project_id)
);
CREATE UNIQUE INDEX projects_source_spelling_key ON projects USING btree (source, lower((source_project_id COLLATE "C")));

create table queue_positions (
  queue text not null,
  "position" timestamp(3) with time zone default '1970-01-01 00:00:00+00'::timestamp with time zone not null,
  constraint queue_positions_pkey PRIMARY KEY (queue)
);

create table queue_takes (
  queue text not null,
  message_id text not null,
  happened_at timestamp(3) with time zone not null,
  lease_expires_at timestamp(3) with time zone not null,
  acked boolean default false not null,
  constraint queue_takes_pkey PRIMARY KEY (queue, message_id)
);
CREATE INDEX queue_takes_happened ON queue_takes USING btree (queue, happened_at);

create unlogged table rate_limits (
  key character varying(255) not null,
  points integer default 0 not null,
  expire bigint,
  constraint rate_limits_pkey PRIMARY KEY (key)
);

create table refused_deliveries (
  id uuid not null,
  source text not null,
  slug text not null,
  event_name text,
  reason text not null,
  received_at timestamp(3) with time zone default now() not null,
  constraint refused_deliveries_pkey PRIMARY KEY (id)
);
CREATE INDEX refused_deliveries_source ON refused_deliveries USING btree (source, id);

create table refused_messages (
  queue text not null,
  message_id text not null,
  happened_at timestamp(3) with time zone not null,
  reason text not null,
  refusals integer default 1 not null,
  next_try_at timestamp(3) with time zone not null,
  constraint refused_messages_pkey PRIMARY KEY (queue, message_id)
);
CREATE INDEX refused_messages_next_try ON refused_messages USING btree (queue, next_try_at);

create table replicas (
  id uuid not null,
  host text not null,
  role text not null,
  version text not null,
  running integer default 0 not null,
  started_at timestamp(3) with time zone default now() not null,
  seen_at timestamp(3) with time zone default now() not null,
  settings jsonb,
  process text,
  constraint replicas_pkey PRIMARY KEY (id)
);

create table source_mappings (
  id integer generated always as identity not null,
  source text not null,
  event_name text not null,
  action text,
  canonical_trigger text not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint source_mappings_pkey PRIMARY KEY (id),
  constraint source_mappings_source_event_name_action_key UNIQUE NULLS NOT DISTINCT (source, event_name, action)
);

create table storage_samples (
  day date not null,
  table_name text not null,
  row_count bigint not null,
  bytes bigint not null,
  constraint storage_samples_pkey PRIMARY KEY (day, table_name)
);

create table subject_hops (
  subject text not null,
  hops integer not null,
  event_at timestamp with time zone default now() not null,
  constraint subject_hops_pkey PRIMARY KEY (subject)
) with (fillfactor=70);

create table task_executions (
  id uuid not null,
  event_id uuid,
  task_id text not null,
  agent_id text,
  project_id integer,
  source text not null,
  slug text not null,
  canonical_trigger text not null,
  subject text,
  project text,
  issue text,
  content text not null,
  state text default 'queued'::text not null,
  attempts integer default 0 not null,
  failures integer default 0 not null,
  deaths integer default 0 not null,
  run_after timestamp(3) with time zone default date_trunc('milliseconds'::text, now()) not null,
  lease text,
  lease_expires_at timestamp(3) with time zone,
  result text,
  result_url text,
  error text,
  prompt_tokens bigint default 0 not null,
  completion_tokens bigint default 0 not null,
  tool_calls integer default 0 not null,
  created_at timestamp(3) with time zone default now() not null,
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  offered_to text,
  offered_until timestamp(3) with time zone,
  handovers integer default 0 not null,
  stream_id uuid,
  death_leases text[] default '{}'::text[] not null,
  held_reason text,
  held_until timestamp(3) with time zone,
  waiting_for text,
  hop integer,
  answers uuid,
  reason text,
  author text,
  author_standing text,
  changes text[] default '{}'::text[] not null,
  snapshot boolean default false not null,
  released_at timestamp(3) with time zone,
  has_sign boolean default false not null,
  model text,
  cost_usd double precision,
  unpriced_tokens bigint default 0 not null,
  failed_tool_calls integer default 0 not null,
  transcript_removed_at timestamp(3) with time zone,
  blocked_by text,
  dry_run boolean default false not null,
  overrides jsonb,
  memories text[],
  death_steps integer default 0 not null,
  packed_content bytea,
  packed_result bytea,
  answer_step integer,
  hold_on_retry text,
  constraint task_executions_pkey PRIMARY KEY (id),
  constraint task_executions_event_id_task_id_key UNIQUE (event_id, task_id)
);
CREATE INDEX task_executions_agent ON task_executions USING btree (agent_id, id);
CREATE INDEX task_executions_due ON task_executions USING btree (run_after) WHERE ((state = 'queued'::text) AND (run_after > created_at));
CREATE INDEX task_executions_error ON task_executions USING btree (id) WHERE (COALESCE(error, held_reason) IS NOT NULL);
CREATE INDEX task_executions_failed ON task_executions USING btree (finished_at) WHERE (state = 'failed'::text);
CREATE INDEX task_executions_failed_subject ON task_executions USING btree (subject, finished_at) WHERE (state = 'failed'::text);
CREATE INDEX task_executions_finished ON task_executions USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX task_executions_held ON task_executions USING btree (held_until) WHERE (state = 'held'::text);
CREATE INDEX task_executions_held_by_outage ON task_executions USING btree (blocked_by) WHERE ((state = 'held'::text) AND (blocked_by IS NOT NULL));
CREATE INDEX task_executions_issue_id ON task_executions USING btree (issue, id) WHERE (length(issue) = 36);
CREATE INDEX task_executions_lease ON task_executions USING btree (lease_expires_at) WHERE (state = 'running'::text);
CREATE INDEX task_executions_memories ON task_executions USING gin (memories) WHERE (memories IS NOT NULL);
CREATE INDEX task_executions_of_subject ON task_executions USING btree (subject) WHERE (subject IS NOT NULL);
CREATE INDEX task_executions_offered ON task_executions USING btree (offered_to, created_at) WHERE ((state = 'queued'::text) AND (offered_to IS NOT NULL));
CREATE INDEX task_executions_paused_subject ON task_executions USING btree (subject, created_at) WHERE (state = ANY (ARRAY['held'::text, 'waiting'::text]));
CREATE INDEX task_executions_project ON task_executions USING btree (project_id, id) WHERE (project_id IS NOT NULL);
CREATE INDEX task_executions_queue ON task_executions USING btree (created_at, id) WHERE (state = 'queued'::text);
CREATE INDEX task_executions_queued_lane ON task_executions USING btree (COALESCE(blocked_by,
CASE
    WHEN (started_at IS NULL) THEN 'model'::text
    ELSE ''::text
END), source, COALESCE(project_id, 0), COALESCE(agent_id, ''::text), task_id, created_at, id) WHERE (state = 'queued'::text);
CREATE INDEX task_executions_queued_subject ON task_executions USING btree (subject, created_at, id) WHERE (state = 'queued'::text);
CREATE UNIQUE INDEX task_executions_running_subject ON task_executions USING btree (subject) WHERE (state = 'running'::text);
CREATE INDEX task_executions_state ON task_executions USING btree (state, id) WHERE (state <> 'succeeded'::text);
CREATE INDEX task_executions_stream ON task_executions USING btree (stream_id) WHERE ((state = 'running'::text) AND (stream_id IS NOT NULL));
CREATE INDEX task_executions_task ON task_executions USING btree (task_id, id);

create table tasks (
  id text not null,
  name text not null,
  description text not null,
  actor_id text not null,
  actor_fallback text,
  required_capabilities text[] default '{}'::text[] not null,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint tasks_pkey PRIMARY KEY (id)
);

create table tools (
  provider text not null,
  name text not null,
  description text,
  category text,
  parameters json,
  endpoint text,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint tools_pkey PRIMARY KEY (provider, name)
);

create table trigger_mappings (
  id integer generated always as identity not null,
  canonical_trigger text not null,
  task_id text not null,
  created_at timestamp(3) with time zone default now() not null,
  conditions jsonb default '{}'::jsonb not null,
  constraint trigger_mappings_pkey PRIMARY KEY (id),
  constraint trigger_mappings_canonical_trigger_task_id_key UNIQUE (canonical_trigger, task_id)
);

create table unread_webhooks (
  id uuid not null,
  plugin text not null,
  slug text not null,
  headers text not null,
  body bytea not null,
  way text default '{}'::text not null,
  attempts integer default 0 not null,
  last_error text,
  held_until timestamp(3) with time zone,
  received_at timestamp(3) with time zone default now() not null,
  source text not null,
  constraint unread_webhooks_pkey PRIMARY KEY (id)
);
CREATE INDEX unread_webhooks_order ON unread_webhooks USING btree (plugin, slug, received_at, id);

create table usage_days (
  day date not null,
  source text,
  project_id integer,
  agent_id text,
  task_id text,
  model text,
  bucket integer,
  runs bigint not null,
  succeeded bigint not null,
  failed bigint not null,
  held bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cost_usd double precision not null,
  unpriced_tokens bigint not null,
  tool_calls bigint not null,
  failed_tool_calls bigint not null
);
CREATE INDEX usage_days_day ON usage_days USING btree (day);

create table usage_sums (
  day date not null,
  open bigint not null,
  summed_at timestamp(3) with time zone default now() not null,
  constraint usage_sums_pkey PRIMARY KEY (day)
);

create table use_cases (
  name text not null,
  state jsonb not null,
  constraint use_cases_pkey PRIMARY KEY (name)
);

create table watchdog_logs (
  id bigint generated always as identity not null,
  level text not null,
  message text not null,
  context jsonb default '{}'::jsonb not null,
  created_at timestamp(3) with time zone default now() not null,
  constraint watchdog_logs_pkey PRIMARY KEY (id)
);
CREATE INDEX watchdog_logs_created ON watchdog_logs USING btree (created_at DESC);
CREATE INDEX watchdog_logs_level ON watchdog_logs USING btree (level, id DESC);

create table webhook_bodies (
  slug text not null,
  digest bytea not null,
  event_id uuid not null,
  received_at timestamp(3) with time zone default now() not null,
  constraint webhook_bodies_pkey PRIMARY KEY (slug, digest)
);
CREATE INDEX webhook_bodies_received ON webhook_bodies USING btree (received_at);

create table webhook_events (
  id uuid not null,
  source text not null,
  slug text not null,
  delivery_id text,
  change_key text,
  event_name text,
  action text,
  actor text,
  subject text,
  canonical_triggers text[] default '{}'::text[] not null,
  outcome text not null,
  reason text,
  replay_of uuid,
  headers text not null,
  body bytea not null,
  received_at timestamp(3) with time zone default now() not null,
  polled boolean default false not null,
  author jsonb,
  occurred_at timestamp(3) with time zone,
  hook_id text,
  snapshot boolean default false not null,
  private boolean default false not null,
  comment text,
  thread text,
  incomplete boolean default false not null,
  body_removed_at timestamp(3) with time zone,
  traceparent text,
  title text,
  carried_out boolean default false not null,
  constraint webhook_events_pkey PRIMARY KEY (id)
);
CREATE INDEX webhook_events_carried_out ON webhook_events USING btree (comment) WHERE carried_out;
CREATE INDEX webhook_events_change_hash ON webhook_events USING btree (hashtext(change_key)) WHERE (change_key IS NOT NULL);
CREATE UNIQUE INDEX webhook_events_delivery ON webhook_events USING btree (slug, delivery_id) WHERE (delivery_id IS NOT NULL);
CREATE INDEX webhook_events_dispatched_snapshots ON webhook_events USING btree (subject, occurred_at) WHERE (snapshot AND (outcome = 'dispatched'::text));
CREATE INDEX webhook_events_of_subject ON webhook_events USING btree (subject) WHERE (subject IS NOT NULL);
CREATE INDEX webhook_events_outcome ON webhook_events USING btree (outcome, id);
CREATE UNIQUE INDEX webhook_events_polled ON webhook_events USING btree (slug, change_key) WHERE (polled AND (change_key IS NOT NULL));
CREATE INDEX webhook_events_source ON webhook_events USING btree (source, id);

create table webhook_mappings (
  id integer generated always as identity not null,
  source text not null,
  event_type text,
  jq_filter text,
  canonical_trigger text,
  path_pattern text,
  extraction_rules jsonb,
  auth jsonb default '{"method": "none"}'::jsonb not null,
  secret text,
  created_at timestamp(3) with time zone default now() not null,
  updated_at timestamp(3) with time zone default now() not null,
  constraint webhook_mappings_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX webhook_mappings_same ON webhook_mappings USING btree (source, COALESCE(event_type, ''::text), COALESCE(path_pattern, ''::text), COALESCE(canonical_trigger, ''::text), md5(COALESCE(jq_filter, ''::text)));

create table worker_uptime (
  one boolean default true not null,
  since timestamp(3) with time zone default now() not null,
  seen_at timestamp(3) with time zone default now() not null,
  constraint worker_uptime_pkey PRIMARY KEY (one),
  constraint worker_uptime_one_check CHECK (one)
);

create table write_checks (
  step_id uuid not null,
  due_at timestamp with time zone not null,
  attempts integer default 0 not null,
  lease text,
  lease_expires_at timestamp with time zone,
  looks integer default 0 not null,
  constraint write_checks_pkey PRIMARY KEY (step_id)
);
CREATE INDEX write_checks_due ON write_checks USING btree (due_at);

CREATE OR REPLACE FUNCTION blocking_key(x task_executions)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(x.blocked_by, case when x.started_at is null and not exists (
    select from agent_streams s join tasks t on t.id = x.task_id
    where s.expires_at > now() and (t.required_capabilities <> '{}' or s.agent_id = coalesce(x.agent_id, t.actor_id))
  ) then 'model' end)
$function$
;

CREATE OR REPLACE FUNCTION claim_executions(worker text, most integer, lease_seconds double precision, limits jsonb, share integer, busy_projects text[], busy_authors text[])
 RETURNS SETOF task_executions
 LANGUAGE plpgsql
 SET enable_bitmapscan TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
        select v.member, v.value, v.until,
          case v.member when 'author_runs_per_hour'
            then greatest(least(v.used, v.value), case when w.hour = this_hour then w.hour_runs else 0 end) else v.used end as used,
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
      select add_usages(array_agg(s.scope), array_agg(s.runs), array_agg(0::bigint), array_agg(0::float8)) from (
        select o.scope, count(*)::integer as runs from judged j
        cross join lateral (values ('issue ' || j.subject), (case when j.is_stranger then 'author ' || j.author end)) o (scope)
        where j.member is null and j.begins and o.scope is not null group by o.scope) s
      having count(*) > 0
    )
    select c.* from claimed c where (select count(*) from counted) >= 0;
end
$function$
;

CREATE OR REPLACE FUNCTION is_kept_back(x task_executions, open_keys text[], probes uuid[], served_agents text[], served_tasks text[], capable_tasks text[], paused_sources text[], paused_projects text[], paused_agents text[], paused_tasks text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(need_of(x) = any(open_keys) and probes[array_position(open_keys, need_of(x))] is distinct from x.id
      and not (x.blocked_by is null and x.started_at is null
        and (x.task_id = any(capable_tasks) or coalesce(x.agent_id = any(served_agents), x.task_id = any(served_tasks)))), false)
    or x.source = any(paused_sources) or coalesce(x.project_id::text = any(paused_projects), false)
    or coalesce(x.agent_id = any(paused_agents), x.task_id = any(paused_tasks))
$function$
;

CREATE OR REPLACE FUNCTION need_of(x task_executions)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(x.blocked_by, case when x.started_at is null then 'model' else '' end)
$function$
;

CREATE OR REPLACE FUNCTION pause_of(x task_executions)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select case p.scope when 'all' then 'everything is paused' else p.scope || ' ' || p.id || ' is paused' end || ': ' || p.reason
  from pauses p
  where p.scope = 'all' or (p.scope = 'source' and p.id = x.source) or (p.scope = 'project' and p.id = x.project_id::text)
    or (p.scope = 'agent' and p.id = coalesce(x.agent_id, (select t.actor_id from tasks t where t.id = x.task_id)))
  order by p.scope limit 1
$function$
;

alter table agent_capabilities add constraint agent_capabilities_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE;
alter table agent_sessions add constraint agent_sessions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE;
alter table agent_streams add constraint agent_streams_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE;
alter table agent_streams add constraint agent_streams_session_hash_fkey FOREIGN KEY (session_hash) REFERENCES agent_sessions(id_hash) ON DELETE CASCADE;
alter table budget_reservations add constraint budget_reservations_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES task_executions(id) ON DELETE CASCADE;
alter table document_chunks add constraint document_chunks_knowledge_source_id_fkey FOREIGN KEY (knowledge_source_id) REFERENCES knowledge_sources(id) ON DELETE CASCADE;
alter table document_chunks add constraint document_chunks_page FOREIGN KEY (knowledge_source_id, page_id) REFERENCES knowledge_pages(knowledge_source_id, page_id) ON DELETE CASCADE;
alter table execution_history add constraint execution_history_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES task_executions(id) ON DELETE CASCADE;
alter table execution_signs add constraint execution_signs_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES task_executions(id) ON DELETE CASCADE;
alter table execution_steps add constraint execution_steps_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES task_executions(id) ON DELETE CASCADE;
alter table ingestion_jobs add constraint ingestion_jobs_knowledge_source_id_fkey FOREIGN KEY (knowledge_source_id) REFERENCES knowledge_sources(id) ON DELETE CASCADE;
alter table integrations add constraint integrations_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE SET NULL;
alter table integrations add constraint integrations_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE SET NULL;
alter table knowledge_pages add constraint knowledge_pages_knowledge_source_id_fkey FOREIGN KEY (knowledge_source_id) REFERENCES knowledge_sources(id) ON DELETE CASCADE;
alter table knowledge_sources add constraint knowledge_sources_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE;
alter table mcp_servers add constraint mcp_servers_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE;
alter table memory_authors add constraint memory_authors_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE;
alter table pending_commands add constraint pending_commands_event_id_fkey FOREIGN KEY (event_id) REFERENCES webhook_events(id) ON DELETE CASCADE;
alter table plugin_versions add constraint plugin_versions_plugin_id_fkey FOREIGN KEY (plugin_id) REFERENCES plugins(id) ON DELETE CASCADE;
alter table task_executions add constraint task_executions_event_id_fkey FOREIGN KEY (event_id) REFERENCES webhook_events(id) ON DELETE CASCADE;
alter table task_executions add constraint task_executions_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE SET NULL;
alter table write_checks add constraint write_checks_step_id_fkey FOREIGN KEY (step_id) REFERENCES execution_steps(id) ON DELETE CASCADE;

CREATE TRIGGER execution_history AFTER UPDATE OF state ON task_executions FOR EACH ROW WHEN ((((new.state = 'queued'::text) AND (old.state = ANY (ARRAY['failed'::text, 'running'::text, 'held'::text]))) OR ((new.state = 'held'::text) AND (old.state <> 'held'::text)))) EXECUTE FUNCTION keep_execution_history();
CREATE TRIGGER execution_history_of_new AFTER INSERT ON task_executions FOR EACH ROW WHEN ((new.state = 'held'::text)) EXECUTE FUNCTION keep_execution_history();
CREATE TRIGGER hold_on_retry BEFORE UPDATE OF state ON task_executions FOR EACH ROW WHEN (((new.hold_on_retry IS NOT NULL) AND (old.state = 'running'::text) AND (new.state <> 'running'::text))) EXECUTE FUNCTION hold_on_retry();
CREATE TRIGGER reject_proposals AFTER UPDATE OF state ON task_executions FOR EACH ROW WHEN (((new.state = 'cancelled'::text) AND (old.state <> 'cancelled'::text) AND (old.attempts > 0))) EXECUTE FUNCTION reject_proposals();
CREATE TRIGGER show_sign AFTER UPDATE OF state ON task_executions FOR EACH ROW WHEN (((new.state <> old.state) AND new.has_sign AND (NOT new.dry_run) AND (new.state = ANY (ARRAY['waiting'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))) EXECUTE FUNCTION show_sign();
CREATE TRIGGER task_executions_replace_snapshots BEFORE INSERT ON task_executions FOR EACH ROW WHEN ((new.snapshot AND (new.subject IS NOT NULL))) EXECUTE FUNCTION replace_snapshots();
CREATE TRIGGER webhook_events_order_snapshots BEFORE INSERT ON webhook_events FOR EACH ROW WHEN ((new.snapshot AND (new.subject IS NOT NULL) AND (new.outcome = 'dispatched'::text))) EXECUTE FUNCTION order_snapshots();
CREATE TRIGGER webhook_events_skip_known_change BEFORE INSERT ON webhook_events FOR EACH ROW WHEN ((new.change_key IS NOT NULL)) EXECUTE FUNCTION skip_known_change();
