import type { hits } from "@signalbox/schema/mappings";
import type { Output } from "@signalbox/schema/operation";
import type { Queryable } from "../platform/database/client.ts";
import { firstIdOf } from "../platform/ids.ts";

type Hits = Output<typeof hits>;
const days = 7;
const dayMs = 86_400_000;
/** Maximum number of events and executions that are counted, newest first. */
const maxCounted = 30_000;

/** How often each event fired each trigger, and each trigger started a task, in the last days. */
export async function countHits(sql: Queryable): Promise<Hits> {
  const start = Math.floor(Date.now() / dayMs - days) * dayMs;
  const first = firstIdOf(start);
  const events = await sql<(Hits["events"][number] & { oldest: string | null })[]>`
    with newest as materialized (
      select source, event_name, action, canonical_triggers, received_at from webhook_events where id >= ${first} order by id desc limit ${maxCounted}
    ), bound as (select case when count(*) = ${maxCounted} then min(received_at) end as oldest from newest)
    select source, coalesce(event_name, '') as event_name, action, canonical_trigger, count(*) as hits, max(received_at) as last_at, bound.oldest
    from newest cross join bound cross join lateral unnest(canonical_triggers) canonical_trigger
    group by source, event_name, action, canonical_trigger, bound.oldest order by hits desc, canonical_trigger limit 1000`;
  const tasks = await sql<Hits["tasks"][number][]>`
    select canonical_trigger, task_id, count(*) as hits, max(created_at) as last_at from (
      select canonical_trigger, task_id, created_at from task_executions where id >= ${first} order by id desc limit ${maxCounted}
    ) newest
    group by canonical_trigger, task_id order by hits desc, canonical_trigger, task_id limit 1000`;
  const from = events[0]?.oldest ?? new Date(start).toISOString();
  return { from, events: events.map(({ oldest: _, ...one }) => one), tasks };
}
