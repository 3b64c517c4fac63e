import type { events } from "@signalbox/schema/bulk";
import type { Input } from "@signalbox/schema/operation";
import type { Fragment, Queryable } from "../platform/database/client.ts";
import { readBounds } from "../platform/database/history-page.ts";
import { eventColumns, type KeptEvent, type WebhookEvent } from "./queries.ts";

/** Selects the events of one bulk replay. */
export interface Replayable {
  readonly filter: Omit<Input<typeof events>["filter"], "subject"> & {
    /** Stored subjects; absent: all. */
    readonly subjects?: readonly string[] | undefined;
  };
  /** Excludes events with a greater id. */
  readonly upTo: string;
}

function matchesFilter(sql: Queryable, { filter, upTo }: Replayable): Fragment {
  const { source, outcome, subjects } = filter;
  return sql`body_removed_at is null and id <= ${upTo}::uuid
    ${source === undefined ? sql`` : sql`and source = ${source}`} ${outcome === undefined ? sql`` : sql`and outcome = ${outcome}`}
    ${subjects ? sql`and subject = any(${subjects as string[]}::text[])` : sql``}
    ${readBounds(sql, { key: sql`id`, keyType: "uuid", time: sql`received_at`, text: sql`reason` }, filter)}`;
}

/** The number of matches, counted up to `most` + 1. */
export async function countReplayable(sql: Queryable, selected: Replayable, most: number): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*) as count from (select 1 from webhook_events where ${matchesFilter(sql, selected)} limit ${most + 1}) counted`;
  return row.count;
}

export const sampleReplayable = (sql: Queryable, selected: Replayable, limit: number): Promise<WebhookEvent[]> =>
  sql<
    WebhookEvent[]
  >`select ${eventColumns(sql)} from webhook_events where ${matchesFilter(sql, selected)} order by id desc limit ${limit}`;

/** Maximum number of bytes of the payloads that are read together; the first may be larger. */
const maxBytes = 16_777_216;

/** The next matches after `after`, oldest first, with their payloads. Fewer than `limit` if their payloads are large. */
export const nextReplayable = (sql: Queryable, selected: Replayable, after: string, limit: number): Promise<KeptEvent[]> =>
  sql<KeptEvent[]>`
    with next as (
      select id as next_id, sum(octet_length(body)) over (order by id) - octet_length(body) as bytes_before from webhook_events
      where ${matchesFilter(sql, selected)} and id > ${after}::uuid order by id limit ${limit}
    )
    select ${eventColumns(sql)}, headers, body from webhook_events join next on next_id = id
    where bytes_before < ${maxBytes} order by id`;
