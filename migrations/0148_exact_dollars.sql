-- As before, but amounts of money are added as decimals: the sum of 0.1 and 0.7 is 0.8, and not a little less, so that it reaches a limit of 0.8.
create or replace function add_usage(given text[], runs integer, tokens bigint, usd double precision)
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
begin
  insert into budget_usage as u (scope, hour_runs, day_tokens, day_usd, month_usd)
  select scope, runs, tokens, usd, usd from unnest(given) scope order by scope
  on conflict (scope) do update set
    hour_runs = case when u.hour = excluded.hour then u.hour_runs else 0 end + excluded.hour_runs, hour = excluded.hour,
    day_tokens = case when u.day = excluded.day then u.day_tokens else 0 end + excluded.day_tokens,
    day_usd = case when u.day = excluded.day then u.day_usd else 0 end::numeric + excluded.day_usd::numeric, day = excluded.day,
    month_usd = case when u.month = excluded.month then u.month_usd else 0 end::numeric + excluded.month_usd::numeric, month = excluded.month;
end
$$;

create or replace function reserve_budget(execution uuid, held_lease text, limits jsonb, of_project integer, of_agent text, request_tokens bigint, request_usd double precision)
returns TABLE(member text, level text, value double precision, used double precision, until timestamp with time zone, is_busy boolean)
language plpgsql
as $$
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
end $$;
