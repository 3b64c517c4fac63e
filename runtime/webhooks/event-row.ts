import { type EventAuthor, oneLine, shortId } from "@signalbox/sdk";
import { databaseTime } from "../platform/clock.ts";
import { maxTextLength, shortText } from "../platform/json.ts";
import { pack } from "../platform/packing/packed.ts";
import { subjectKey } from "../subject-names/subject-key.ts";
import type { Arrival, NewEvent } from "./arrival.ts";
import type { IdentifiedEvent } from "./incoming-event.ts";
import { isReported } from "./received-webhook.ts";

/** The row of an event. `reason`: why it is discarded, or why not all of its tasks are started. */
export function rowOf(
  { id, origin, source, slug, event, headers, body, traceparent }: IdentifiedEvent,
  triggers: readonly string[],
  reason: string | null,
  discarded: boolean,
): NewEvent {
  const messageId = origin.kind === "message" ? origin.messageId : null;
  return {
    id,
    source,
    slug,
    delivery_id: isReported(origin) ? longId(event.delivery_id ?? messageId) : null,
    change_key: isReported(origin) ? longId(event.change_key ?? null) : null,
    event_name: text(event.event_name),
    action: text(event.action),
    actor: text(event.actor),
    subject: event.subject && text(subjectKey(source, event.subject)),
    title: event.subject && event.title ? text(oneLine(event.title).trim()) || null : null,
    canonical_triggers: triggers,
    outcome: discarded ? "discarded" : "dispatched",
    reason: text(reason),
    replay_of: origin.kind === "replay" ? origin.replayOf : null,
    polled: origin.kind === "poll",
    author: event.author ? authorOf(event.author) : null,
    occurred_at: instant(event.occurred_at),
    hook_id: text(event.hook_id ?? null),
    snapshot: event.snapshot ?? false,
    private: event.private ?? false,
    comment: text(event.comment ?? null),
    thread: text(event.thread ?? null),
    incomplete: event.incomplete ?? false,
    traceparent,
    headers: JSON.stringify(headers),
    body,
  };
}

/** With a batch of this many events, the service is busy: 4 connections that send without a pause reach 3, 16 reach 8. */
const manyEvents = 6;
/** In bytes. lz4 needs 1.4 to 2 times the space for longer payloads, and up to 3 times for shorter ones. */
const longPayload = 4_000;

/**
 * Packs the payloads of a batch of events. While the service is busy, a database with lz4 compresses the long ones of events that
 * start nothing, because packing takes a quarter of the processor time of such a webhook. Packing takes only a small part of the time
 * of an event that starts runs.
 */
export function packBodies(arrivals: readonly Arrival[], hasLz4: boolean): Arrival[] {
  const isBusy = hasLz4 && arrivals.length >= manyEvents;
  return arrivals.map((arrival) => {
    const { event, executions } = arrival;
    const isLeft = isBusy && executions.length === 0 && event.body.byteLength > longPayload;
    const packed = isLeft ? undefined : pack("payload", event.body);
    return packed ? { ...arrival, event: { ...event, body: packed } } : arrival;
  });
}

const text = (value: string | null) => value && shortText(value);
/** Long ones are not cut: two that begin alike would be one. */
const longId = (id: string | null) => id && (id.length <= maxTextLength ? text(id) : shortId(id));

const authorOf = ({ id, name, kind, standing }: EventAuthor): EventAuthor => ({ id: text(id), name: text(name), kind, standing });

/** Maximum difference between the clock of a platform and ours, in milliseconds. */
const maxAheadMs = 600_000;

/**
 * ISO 8601 in UTC; `null` if it is not a time, or one that has not come yet: events that are older than it would be discarded until
 * then.
 */
export function instant(text: string | null): string | null {
  const ms = text === null ? Number.NaN : Date.parse(text);
  return ms >= 0 && ms <= databaseTime() + maxAheadMs ? new Date(ms).toISOString() : null;
}
