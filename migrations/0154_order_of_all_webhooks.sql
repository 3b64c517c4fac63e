-- As before 0152: closes and edits concern all events and executions of their issue, whichever webhook reported them.
create or replace function order_snapshots() returns trigger language plpgsql as $$
begin
  if not new.polled then
    perform pg_advisory_xact_lock(7160415, hashtext(new.subject));
  end if;
  if new.replay_of is null and (exists (
    select 1 from webhook_events e where e.subject = new.subject and e.snapshot and e.occurred_at > new.occurred_at and e.outcome = 'dispatched'
  ) or exists (
    select 1 from webhook_events e where e.subject = new.subject and e.closes and e.occurred_at > new.occurred_at
  )) then
    new.outcome := 'discarded';
    new.reason := 'it tells of an older state of the issue than an event that came before it';
  end if;
  return new;
end $$;

-- As before 0153.
create or replace function replace_snapshots() returns trigger language plpgsql as $$
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
end $$;

drop function is_within_reach(text, text);
