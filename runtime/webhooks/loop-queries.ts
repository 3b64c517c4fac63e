import type { Queryable } from "../platform/database/client.ts";
import type { Arrival } from "./queries.ts";

/** When events that answer our own writes are a loop. */
export interface LoopLimits {
  /** An event that comes within so many seconds after a write of ours answers it; 0: loops are not detected. */
  readonly windowSeconds: number;
  /** How long the executions of a loop are held. */
  readonly cooldownSeconds: number;
}

/** Writes take this long at most: how far back the one is looked for that an event answers. */
const longestWriteSeconds = 300;

/**
 * A part of a statement, after `stored`: `hopped` has the hops of the subjects whose events start executions, `fired` uses it.
 * A hop is an event within the window after a write of ours, with a new write since the event before it. A time without
 * events and writes as long as the window resets the count. Rows are locked in the order of the subjects, after those of
 * the events.
 */
export function countHops(sql: Queryable, arrivals: readonly Arrival[], { windowSeconds }: LoopLimits) {
  const touches = arrivals.flatMap(({ event, executions }) =>
    event.subject !== null && executions.some(({ max_hops = 0 }) => max_hops > 0)
      ? [{ event_id: event.id, subject: event.subject }]
      : [],
  );
  if (windowSeconds === 0 || touches.length === 0)
    return sql`hopped as (select null::text as subject, 0 as hops, null::uuid as answers where false)`;
  const recent = sql`now() - make_interval(secs => ${windowSeconds})`;
  return sql`touched as (
      select x.subject, w.at as written_at, w.execution_id, coalesce(greatest(w.at, w.done_at) > ${recent}, false) as answers
      from (
        select distinct t.subject from json_to_recordset(${JSON.stringify(touches)}::text::json) as t (event_id uuid, subject text)
        where t.event_id in (select id from stored where outcome = 'dispatched')
      ) x left join lateral (
        select o.at, o.done_at, o.execution_id from own_writes o
        where o.subject = x.subject and o.at > now() - make_interval(secs => ${windowSeconds + longestWriteSeconds})
        order by o.at desc limit 1
      ) w on true
    ), counted as (
      insert into subject_hops as h (subject, hops, event_at)
      select t.subject, case when t.answers then 1 else 0 end, now() from touched t
      where t.answers or exists (select 1 from subject_hops k where k.subject = t.subject)
      order by t.subject
      on conflict (subject) do update set event_at = now(), hops = case
        when exists (select 1 from touched t where t.subject = h.subject and t.answers and t.written_at > h.event_at) then h.hops + 1
        when h.event_at < ${recent} and not exists (select 1 from touched t where t.subject = h.subject and t.answers) then 0
        else h.hops end
      returning subject, hops
    ), hopped as (
      select c.subject, c.hops, case when t.answers then t.execution_id end as answers from counted c join touched t using (subject)
    )`;
}
