import type { executionState } from "@signalbox/schema/executions";
import type { Input, Output } from "@signalbox/schema/operation";
import type { list } from "@signalbox/schema/webhooks";
import type { z } from "zod";
import type { Queryable } from "../platform/database/client.ts";
import { type History, type HistoryPage, readHistory } from "../platform/database/history-page.ts";

export type WebhookEvent = Output<typeof list>["items"][number];
type EventFilter = Omit<Input<typeof list>, "subject" | "fields"> & {
  /** Stored subjects; absent: all. */
  readonly subjects?: readonly string[] | undefined;
  /** Includes the body, as it is stored. */
  readonly whole?: boolean;
};

export const eventColumns = (sql: Queryable) => sql`
  id, source, slug, delivery_id, event_name, action, actor, author, subject, title as subject_title, canonical_triggers, outcome, reason, replay_of, polled, occurred_at, received_at, body_removed_at`;

export function listEvents(
  sql: Queryable,
  { subjects, whole, ...filter }: EventFilter,
): Promise<HistoryPage<WebhookEvent & { body?: Uint8Array }>> {
  const history: History = {
    table: sql`webhook_events`,
    key: sql`id`,
    keyType: "uuid",
    time: sql`received_at`,
    columns: whole ? sql`${eventColumns(sql)}, body` : eventColumns(sql),
    where: sql`${filter.source === undefined ? sql`` : sql`and source = ${filter.source}`}
      ${filter.outcome === undefined ? sql`` : sql`and outcome = ${filter.outcome}`}
      ${subjects ? sql`and subject = any(${subjects as string[]}::text[])` : sql``}`,
    text: sql`reason`,
    ...(whole && { bytes: sql`coalesce(octet_length(body), 0)` }),
  };
  return readHistory<WebhookEvent & { body?: Uint8Array }>(sql, history, filter);
}

/** A refused delivery as an event: nothing of its content is stored. */
const refusedColumns = (sql: Queryable) => sql`
  id, source, slug, null as delivery_id, event_name, null as action, null as actor, null::jsonb as author, null as subject, null as subject_title,
  '{}'::text[] as canonical_triggers, 'refused' as outcome, reason, null::uuid as replay_of, false as polled,
  null::timestamptz as occurred_at, received_at, null::timestamptz as body_removed_at`;

export function listRefused(
  sql: Queryable,
  { subjects, ...filter }: Omit<EventFilter, "outcome" | "whole">,
): Promise<HistoryPage<WebhookEvent>> {
  const history: History = {
    table: sql`refused_deliveries`,
    key: sql`id`,
    keyType: "uuid",
    time: sql`received_at`,
    columns: refusedColumns(sql),
    // A refused delivery is not parsed, so it has no subject.
    where: sql`${filter.source === undefined ? sql`` : sql`and source = ${filter.source}`} ${subjects ? sql`and false` : sql``}`,
    text: sql`reason`,
  };
  return readHistory(sql, history, filter);
}

export async function findRefused(sql: Queryable, id: string): Promise<WebhookEvent | undefined> {
  const [refused] = await sql<WebhookEvent[]>`select ${refusedColumns(sql)} from refused_deliveries where id = ${id}`;
  return refused;
}

/** A stored event with its original headers and body. */
export interface KeptEvent extends WebhookEvent {
  readonly headers: string;
  /** As it is stored: see `platform/packing/`. */
  readonly body: Uint8Array;
}

export async function findEvent(sql: Queryable, id: string): Promise<KeptEvent | undefined> {
  const [event] = await sql<KeptEvent[]>`select ${eventColumns(sql)}, headers, body from webhook_events where id = ${id}`;
  return event;
}

type ExecutionState = z.output<typeof executionState>;
export const listExecutionsOfEvent = (
  sql: Queryable,
  eventId: string,
): Promise<{ id: string; task_id: string; state: ExecutionState }[]> =>
  sql<{ id: string; task_id: string; state: ExecutionState }[]>`
    select id, task_id, state from task_executions where event_id = ${eventId} order by created_at, id`;
