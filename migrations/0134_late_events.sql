-- As `count_hops` of 0116, which replicas of the version before go on calling: an event also answers a write if it happened within
-- the window after it, however late it arrives, as one does that a poll finds or that waited at the tracker. `occurred`: when the
-- event of each subject happened, null if the platform does not say. The platform's clock may be two seconds behind.
create function count_hops(
  subjects text[], occurred timestamptz[], window_seconds double precision, longest_write_seconds double precision)
returns table (subject text, hops integer, answers uuid)
language plpgsql rows 10
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
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
end $$;
