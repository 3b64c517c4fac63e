-- A claim, and a write of runs, count the usage of all their executions with one call, and a claim reads the rows that belong to them
-- with one. Each call costs PostgreSQL several times what it does for one execution. The functions for one remain: other statements use
-- `add_usage`, and replicas of the version before use both.

-- Counts the usage of several scopes, each of them named once. A session plans it once: see `0133_usage_is_planned_once.sql`.
create function add_usages(scopes text[], runs integer[], tokens bigint[], usd double precision[])
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
begin
  insert into budget_usage as u (scope, hour_runs, day_tokens, day_usd, month_usd)
  select g.scope, g.runs, g.tokens, g.usd, g.usd from unnest(scopes, runs, tokens, usd) g (scope, runs, tokens, usd) order by g.scope
  on conflict (scope) do update set
    hour_runs = case when u.hour = excluded.hour then u.hour_runs else 0 end + excluded.hour_runs, hour = excluded.hour,
    day_tokens = case when u.day = excluded.day then u.day_tokens else 0 end + excluded.day_tokens,
    day_usd = case when u.day = excluded.day then u.day_usd else 0 end::numeric + excluded.day_usd::numeric, day = excluded.day,
    month_usd = case when u.month = excluded.month then u.month_usd else 0 end::numeric + excluded.month_usd::numeric, month = excluded.month;
end
$$;

-- What a worker needs to know about executions that it has just claimed. Why it is a volatile function: see `0095_claimed.sql`.
create function claimed_with(executions uuid[])
returns table (id uuid, place json, origin json, task_version text, agent_version text, probes text)
language plpgsql volatile rows 100
set plan_cache_mode = force_generic_plan
as $$
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
$$;

do $do$
declare
  given text := pg_get_functiondef('claim_executions'::regproc);
  changed text := replace(given,
    $old$select add_usage(array_remove(array['issue ' || j.subject, case when j.is_stranger then 'author ' || j.author end], null), 1, 0, 0)
      from judged j where j.member is null and j.begins and (j.subject is not null or j.is_stranger) order by j.subject$old$,
    $new$select add_usages(array_agg(s.scope), array_agg(s.runs), array_agg(0::bigint), array_agg(0::float8)) from (
        select o.scope, count(*)::integer as runs from judged j
        cross join lateral (values ('issue ' || j.subject), (case when j.is_stranger then 'author ' || j.author end)) o (scope)
        where j.member is null and j.begins and o.scope is not null group by o.scope) s
      having count(*) > 0$new$);
begin
  if changed = given then raise exception 'claim_executions does not count usage as this migration expects'; end if;
  execute changed;
end $do$;

-- A write is stored before it is sent and again when it is answered. With room beside it, the second version needs no entries in indexes.
alter table own_writes set (fillfactor = 50);
