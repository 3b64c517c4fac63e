import type { Queryable } from "../platform/database/client.ts";
import type { Arrival } from "./arrival.ts";

/** Limits that define when events that answer our own writes form a loop. */
export interface LoopLimits {
  /** An event answers a write of ours if it happens or arrives within this many seconds after it. 0: loops are not detected. */
  readonly windowSeconds: number;
  /** How long the executions of a loop are held. */
  readonly cooldownSeconds: number;
}

/** Maximum duration of a write, which limits the search for the answered write. */
const maxWriteSeconds = 300;

/**
 * Part of a statement, after `stored`: `hopped` contains the hops of the subjects whose events start executions, and is used by
 * `started`. `0134_late_events.sql` defines a hop. Its rows are locked after those of the events.
 */
export function countHops(sql: Queryable, arrivals: readonly Arrival[], { windowSeconds }: LoopLimits) {
  const touches = arrivals.flatMap(({ event, executions }) =>
    event.subject !== null && executions.some(({ max_hops = 0 }) => max_hops > 0)
      ? [{ event_id: event.id, subject: event.subject, at: event.occurred_at }]
      : [],
  );
  if (windowSeconds === 0 || touches.length === 0)
    return sql`hopped as (select null::text as subject, 0 as hops, null::uuid as answers where false)`;
  return sql`hopped as (
      select h.* from (
        select array_agg(t.subject) as subjects, array_agg(t.at) as occurred
        from json_to_recordset(${JSON.stringify(touches)}::text::json) as t (event_id uuid, subject text, at timestamptz)
        where t.event_id in (select id from stored where is_dispatched)
      ) t, count_hops(t.subjects, t.occurred, ${windowSeconds}, ${maxWriteSeconds}) h where t.subjects is not null
    )`;
}
