-- Takes up to `most` executions that are due, oldest first, for a worker. Of several on one subject the oldest only, and none
-- while one of that subject runs; the unique index on running subjects is the guard between replicas.
--
-- The statistics of a queue are those of a moment long gone: by them the planner reads and sorts all that waits for the sake of
-- a few. With these settings, and `offset 0` to keep the two looks from becoming joins of the queue with itself, it walks along
-- the index, and a claim costs what it takes. They are why this is a function: elsewhere they would do harm.
create function claim_executions(worker text, most integer, lease_seconds double precision) returns setof task_executions
language plpgsql set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off as $$
begin
  -- A claim that a crash of the server undoes has done nothing yet, so its commit need not wait for the disk. The write that
  -- goes before any effect does wait, for this one too. Without fsync (the embedded database) no commit waits, and this one would
  -- stay in the memory of the process.
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
end
$$;
