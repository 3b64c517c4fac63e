-- Whether what was used of a scope has reached the budgets that a policy sets for it.
create function is_used_up(of_scope text, policy jsonb) returns boolean language sql stable as $$
  select exists (
    select from budget_usage u where u.scope = of_scope and (
      case when u.day = date_trunc('day', now(), 'UTC') then u.day_tokens else 0 end
        >= nullif((policy->>(case when of_scope like 'issue %' then 'issue_tokens_per_day' else 'day_tokens' end))::float8, 0)
      or case when u.day = date_trunc('day', now(), 'UTC') then u.day_usd else 0 end >= nullif((policy->>'day_usd')::float8, 0)
      or case when u.month = date_trunc('month', now(), 'UTC') then u.month_usd else 0 end >= nullif((policy->>'month_usd')::float8, 0)))
$$;
