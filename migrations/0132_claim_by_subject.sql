-- A claim reads the runs of a subject by the index of subjects, whatever the statistics say.
--
-- PostgreSQL counts the rows of a table now and then. Where it counts while hardly anything is queued or runs, it takes any index of what is
-- queued or runs to be as short as the other, and read all that was queued, dead rows included, for each execution that a claim looked at:
-- up to 2,000 entries each, five times the time of the rest of the database's work. Subjects are therefore compared as ranges and in
-- the order of the index that is meant: the others would have to sort, which these functions forbid.

-- What may run now while no breaker is open and nothing is paused (else: claimable_executions), at most `most` of it, oldest first: of each subject the oldest that is due, and none of a subject that runs.
--
-- It looks at the oldest `reach` of what is queued. Where a few subjects have all of that, it goes from subject to subject, from
-- a random one on, so that none of them waits for ever behind a long one. It looks at everything that waits only if it has found
-- nothing yet and has not seen every subject.
create or replace function claim_candidates(most integer, reach integer) returns uuid[]
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
        and (
          select r.id from task_executions r where r.state = 'running' and r.subject >= x.subject and r.subject <= x.subject
          order by r.subject limit 1) is null
        and (
          select o.id from task_executions o where o.state = 'queued' and o.run_after <= now() and o.subject >= x.subject
            and (o.subject, o.created_at, o.id) < (x.subject, x.created_at, x.id)
          order by o.subject, o.created_at, o.id limit 1) is null
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
$$;

-- The same while a breaker is open or something is paused.
do $do$
declare
  given text := pg_get_functiondef('claimable_executions'::regproc);
  changed text := replace(given,
    $old$not exists (select 1 from task_executions r where r.subject = x.subject and r.state = 'running' offset 0)$old$,
    $new$(
          select r.id from task_executions r where r.state = 'running' and r.subject >= x.subject and r.subject <= x.subject
          order by r.subject limit 1) is null$new$);
begin
  changed := regexp_replace(changed, $old$not exists \((\s+)select 1 from task_executions o where o\.subject = x\.subject and$old$,
    $new$(\1select o.id from task_executions o where o.subject >= x.subject
            and (o.subject, o.created_at, o.id) < (x.subject, x.created_at, x.id) and$new$, 'g');
  changed := regexp_replace(changed, $old$\s+and \(o\.created_at, o\.id\) < \(x\.created_at, x\.id\) offset 0\)$old$,
    $new$
          order by o.subject, o.created_at, o.id limit 1) is null$new$, 'g');
  if changed ~ 'offset 0\)|not exists' then raise exception 'claimable_executions is not what this migration expects'; end if;
  execute changed;
end $do$;
