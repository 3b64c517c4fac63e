-- The reason of a held execution counts correctly: "1 run has begun", and at most as many runs as really have begun. If one claim took
-- several executions of a stranger, it said of the later ones that more runs had begun than the limit allows.
do $do$
declare
  given text := pg_get_functiondef('budget_reason'::regproc);
  changed text;
begin
  changed := replace(given, $$|| ' runs have begun'$$, $$|| case used::bigint when 1 then ' run has begun' else ' runs have begun' end$$);
  changed := replace(changed, $$|| ' tokens were used'$$, $$|| case used::bigint when 1 then ' token was used' else ' tokens were used' end$$);
  if changed not like '%run has begun%token was used%' then
    raise exception 'budget_reason is not what this migration expects';
  end if;
  execute changed;

  given := pg_get_functiondef('claim_executions'::regproc);
  -- `used` includes the executions before this one in the same claim. Only those up to the limit begin.
  changed := replace(given, 'select v.member, v.used, v.value, v.until,', $$select v.member, v.value, v.until,
          case v.member when 'author_runs_per_hour'
            then greatest(least(v.used, v.value), case when w.hour = this_hour then w.hour_runs else 0 end) else v.used end as used,$$);
  if changed = given then
    raise exception 'claim_executions is not what this migration expects';
  end if;
  execute changed;
end $do$;
