import type { executionState } from "@signalbox/schema/executions";
import type { Output } from "@signalbox/schema/operation";
import type { list } from "@signalbox/schema/webhooks";
import type { z } from "zod";
import type { Queryable } from "../platform/database/client.ts";

export type WebhookEvent = Output<typeof list>["items"][number];
export interface EventFilter {
  readonly limit: number;
  readonly offset: number;
  readonly source?: string | undefined;
  readonly outcome?: string | undefined;
}

const columns = (sql: Queryable) => sql`
  id, source, slug, delivery_id, event_name, action, actor, author, subject, canonical_triggers, outcome, reason, replay_of, polled, occurred_at, received_at, body_removed_at`;

export async function listEvents(sql: Queryable, filter: EventFilter): Promise<{ items: WebhookEvent[]; total: number }> {
  const where = sql`
    where (${filter.source ?? null}::text is null or source = ${filter.source ?? null})
      and (${filter.outcome ?? null}::text is null or outcome = ${filter.outcome ?? null})`;
  const items = await sql<WebhookEvent[]>`
    select ${columns(sql)} from webhook_events ${where} order by id desc limit ${filter.limit} offset ${filter.offset}`;
  const [count] = await sql<[{ total: number }]>`select count(*) as total from webhook_events ${where}`;
  return { items, total: count.total };
}

/** A kept event with what it came as. */
export interface KeptEvent extends WebhookEvent {
  readonly headers: string;
  readonly body: Uint8Array;
}

export async function findEvent(sql: Queryable, id: string): Promise<KeptEvent | undefined> {
  const [event] = await sql<KeptEvent[]>`select ${columns(sql)}, headers, body from webhook_events where id = ${id}`;
  return event;
}

type ExecutionState = z.output<typeof executionState>;
export const listExecutionsOfEvent = (
  sql: Queryable,
  eventId: string,
): Promise<{ id: string; task_id: string; state: ExecutionState }[]> =>
  sql<{ id: string; task_id: string; state: ExecutionState }[]>`
    select id, task_id, state from task_executions where event_id = ${eventId} order by created_at, id`;
