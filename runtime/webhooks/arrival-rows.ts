import { isUtf8 } from "node:buffer";
import { isPacked } from "../platform/packing/packed.ts";
import type { Arrival } from "./arrival.ts";
import { authorKey } from "./ending-queries.ts";

/**
 * Closes and snapshots come first, in the order of their subjects, which they lock, whatever their slugs. Then the order is by slug
 * and delivery, because concurrent writers of the same delivery wait for each other at its index. Writers that lock in the same order
 * cannot deadlock. Rows of JSON are read and inserted in their order.
 */
export function inOrderOfLocks(arrivals: readonly Arrival[]): Arrival[] {
  const place = ({ event, closes }: Arrival) =>
    `${event.snapshot || closes ? `0 ${event.subject}` : "1"} ${event.slug} ${event.delivery_id ?? ""}`;
  return arrivals
    .map((one) => ({ one, at: place(one) }))
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    .map(({ one }) => one);
}

/**
 * The rows of events, and the text of all their bodies that are not packed: `body_at` and `body_bytes` are the place of a body in it.
 * As one text parameter, bytes have half the size when they are sent, and the statement is the same for any number of events.
 */
export function eventRows(arrivals: readonly Arrival[]) {
  const bodies: string[] = [];
  let end = 1;
  const events = arrivals.map(({ event }) => {
    const bytes = Buffer.from(event.body.buffer, event.body.byteOffset, event.body.byteLength);
    if (isPacked(bytes)) return { ...event, body: undefined, packed: bytes.toString("base64") };
    const body = bytes.toString();
    const [body_at, body_bytes] = [end, isUtf8(bytes) ? bytes.byteLength : Buffer.byteLength(body)];
    bodies.push(body);
    end += body_bytes;
    return { ...event, body: undefined, body_at, body_bytes };
  });
  return { bodies: bodies.join(""), events };
}

/** The rows of all executions. */
export const executionRows = (arrivals: readonly Arrival[]) => arrivals.flatMap(rowsOfExecutions);

function rowsOfExecutions({ event, project, issue, content, packedContent, changes, delayMs = 0, executions }: Arrival) {
  return executions.map((one) => ({
    ...one,
    author: authorKey(event),
    author_standing: event.author?.standing ?? null,
    snapshot: delayMs > 0,
    changes: delayMs > 0 ? changes : undefined,
    delay_ms: delayMs,
    event_id: event.id,
    source: event.source,
    slug: event.slug,
    subject: event.subject,
    project,
    issue,
    content: packedContent === undefined ? content : "",
    packed_content: packedContent,
  }));
}
