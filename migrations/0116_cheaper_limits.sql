-- Functions in SQL are planned anew by each statement that calls them, those in PL/pgSQL once for each session. These two are
-- called for nearly every event.

create or replace function add_usage(given text[], runs integer, tokens bigint, usd double precision) returns void language plpgsql as $$
begin
  insert into budget_usage as u (scope, hour_runs, day_tokens, day_usd, month_usd)
  select scope, runs, tokens, usd, usd from unnest(given) scope order by scope
  on conflict (scope) do update set
    hour_runs = case when u.hour = excluded.hour then u.hour_runs else 0 end + excluded.hour_runs, hour = excluded.hour,
    day_tokens = case when u.day = excluded.day then u.day_tokens else 0 end + excluded.day_tokens,
    day_usd = case when u.day = excluded.day then u.day_usd else 0 end + excluded.day_usd, day = excluded.day,
    month_usd = case when u.month = excluded.month then u.month_usd else 0 end + excluded.month_usd, month = excluded.month;
end $$;

-- Counts an event on each of the subjects, and returns the hops of those that have any. A hop is an event within the window after
-- a write of ours, with a new write since the event before it. A time without events and writes as long as the window resets the
-- count. Rows are locked in the order of the subjects. Most subjects have neither a write nor a count: for them it looks, and ends.
create function count_hops(subjects text[], window_seconds double precision, longest_write_seconds double precision)
returns table (subject text, hops integer, answers uuid)
language plpgsql rows 10 as $$
#variable_conflict use_column
declare
  recent timestamptz := now() - make_interval(secs => window_seconds);
  first_write timestamptz := recent - make_interval(secs => longest_write_seconds);
begin
  if not exists (select from own_writes o where o.subject = any(subjects) and o.kind <> 'sign' and o.at > first_write)
    and not exists (select from subject_hops k where k.subject = any(subjects)) then
    return;
  end if;
  return query
    with touched as (
      select x.subject, w.at as written_at, w.execution_id, coalesce(greatest(w.at, w.done_at) > recent, false) as answers
      from (select distinct unnest(subjects) as subject) x left join lateral (
        select o.at, o.done_at, o.execution_id from own_writes o
        where o.subject = x.subject and o.kind <> 'sign' and o.at > first_write
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
