/**
 * Replaces the functions of budgets, fair claims, breakers, pauses and the ledger of own writes by functions that do nothing, to
 * compare with a queue without them.
 */
export const withoutPolicy: readonly string[] = [
  `create or replace function add_usage(given text[], runs integer, tokens bigint, usd double precision) returns void
   language sql as $$ select $$`,
  `create or replace function add_usages(scopes text[], runs integer[], tokens bigint[], usd double precision[]) returns void
   language sql as $$ select $$`,
  `create or replace function claim_executions(
     worker text, most integer, lease_seconds double precision, limits jsonb, share integer, busy_projects text[], busy_authors text[]
   ) returns setof task_executions
   language plpgsql set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off set jit = off as $$
   begin
     if current_setting('fsync')::boolean then
       perform set_config('synchronous_commit', 'off', true);
     end if;
     return query
       with due as (
         select x.id from task_executions x
         where x.state = 'queued' and x.run_after <= now() and (x.offered_to is null or x.offered_until <= now())
           and not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running' offset 0)
           and not exists (
             select 1 from task_executions o where o.subject = x.subject and o.state = 'queued' and o.run_after <= now()
               and (o.created_at, o.id) < (x.created_at, x.id) offset 0)
         order by x.created_at, x.id limit most for update skip locked
       )
       update task_executions e
       set state = 'running', attempts = e.attempts + 1, offered_to = null, started_at = coalesce(e.started_at, now()),
         lease = worker || ':' || (e.attempts + 1), lease_expires_at = now() + make_interval(secs => lease_seconds),
         agent_id = coalesce(e.agent_id, (
           select a.id from tasks t join agents a on a.id = t.actor_id where t.id = e.task_id and t.required_capabilities = '{}'))
       from due where e.id = due.id
       returning e.*;
   end $$`,
  "create function skip_row() returns trigger language plpgsql as $$ begin return null; end $$",
  "create trigger skip_own_writes before insert on own_writes for each row execute function skip_row()",
];
