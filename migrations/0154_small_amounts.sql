-- US dollars in reasons have up to eight decimals, as in the sums of `GET /api/usage`: a budget of 0.00004 was shown as 0.00.
do $do$
declare
  given text := pg_get_functiondef('budget_reason'::regproc);
  changed text := replace(given, 'FM999999990.0099', 'FM999999990.00999999');
begin
  if changed = given then
    raise exception 'budget_reason is not what this migration expects';
  end if;
  execute changed;
end $do$;
