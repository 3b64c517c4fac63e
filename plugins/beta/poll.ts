import { type HttpClient, type PollBatch, readableItems } from "@signalbox/sdk";
import { z } from "zod";
import { projectOf } from "./address.ts";
import { detailsOf, type Item, type Kind, type PollContext, type PolledEvent } from "./poll-details.ts";
import * as shapes from "./shapes.ts";

/** Pages of 100 per list and poll; the next poll continues from there. */
const maxPages = 20;
/** Items per list and poll whose notes and labels are read; the next poll continues with the others. */
const maxDetails = 150;
/** After this time a poll reads no further details. Milliseconds. */
const maxReadingMs = 120_000;
/**
 * Changes younger than this are read again; those already reported are recognised by their key. The platform moves
 * `updated_at` for notes and labels at most once a minute, so the list may not show the latest one. Milliseconds.
 */
const overlap = 90_000;

/** Position in one list. */
const position = z.object({
  /** Events before this time have been reported. */
  from: z.string(),
  /** `updated_at` of the last item read. */
  at: z.string(),
  /** The next page; above 1 only if one moment fills more than a page. */
  page: z.number().int().positive(),
  /** If a poll ended before the details: items that the next one lists again and can skip, by their `updated_at`. */
  done: z.array(z.string()).default([]),
});
type Position = z.output<typeof position>;
const cursorShape = z.object({ v: z.literal(1), issues: position, merge_requests: position });

/** Reads the changes of a project as the events that its webhooks would have sent. */
export async function poll(
  client: HttpClient,
  from: { project: string; since: string; cursor: string | null },
  signal: AbortSignal,
): Promise<PollBatch> {
  const context: PollContext = { client, project: projectOf(from.project), signal, unreadable: [] };
  const cursor = cursorOf(from.cursor, from.since);
  const until = Date.now() + maxReadingMs;
  const found: PolledEvent[] = [];
  const nextPositions = { issues: cursor.issues, merge_requests: cursor.merge_requests };
  for (const kind of ["issues", "merge_requests"] as const) {
    const { items, nextPosition } = await listChanged(context, kind, cursor[kind]);
    const rest = await readDetails(context, kind, { items, start: cursor[kind], until }, found);
    nextPositions[kind] = rest ?? nextPosition;
  }
  const events = found.sort((a, b) => Date.parse(a.when) - Date.parse(b.when));
  return {
    events: events.map(({ headers, payload }) => ({ headers, payload })),
    cursor: JSON.stringify({ v: 1, ...nextPositions }),
    unreadable: context.unreadable,
  };
}

function cursorOf(text: string | null, since: string): z.output<typeof cursorShape> {
  try {
    return cursorShape.parse(JSON.parse(text ?? ""));
  } catch {
    const start: Position = { from: new Date(since).toISOString(), at: new Date(since).toISOString(), page: 1, done: [] };
    return { v: 1, issues: start, merge_requests: start };
  }
}

const withOverlap = (time: string): string => new Date(Date.parse(time) - overlap).toISOString();

/** Lists items by time of change. Pages are requested by time, not by number: an item that changes meanwhile moves to the end. */
async function listChanged(
  context: PollContext,
  kind: Kind,
  start: Position,
): Promise<{ items: Item[]; nextPosition: Position }> {
  const items = new Map<string, Item>();
  let { at: newestTime, page } = start;
  let after = withOverlap(newestTime);
  for (let count = 0; count < maxPages; count++) {
    const query = { updated_after: after, order_by: "updated_at", sort: "asc", per_page: 100, page };
    const request = {
      route: "GET /projects/{project}/{kind}",
      path: { project: context.project, kind },
      query,
      signal: context.signal,
    };
    const { data } = await context.client.read({ ...request, schema: shapes.listItems });
    const readable = readableItems(shapes.listItem, data, kind, context.unreadable);
    for (const item of readable) items.set(`${item.iid}`, item);
    const last = readable.at(-1);
    if (last && Date.parse(last.updated_at) > Date.parse(newestTime)) newestTime = last.updated_at;
    if (data.length < 100)
      return { items: [...items.values()], nextPosition: { from: withOverlap(newestTime), at: newestTime, page: 1, done: [] } };
    page = last && Date.parse(last.updated_at) > Date.parse(after) ? 1 : page + 1;
    after = last?.updated_at ?? after;
  }
  return { items: [...items.values()], nextPosition: { from: start.from, at: newestTime, page, done: [] } };
}

/** Reads the details of as many items as one poll may, oldest change first. If some are left, returns the position to continue from. */
async function readDetails(
  context: PollContext,
  kind: Kind,
  { items, start, until }: { items: readonly Item[]; start: Position; until: number },
  found: PolledEvent[],
): Promise<Position | null> {
  const processedKeys = new Set(start.done);
  const due = items
    .filter((item) => !processedKeys.has(nameOf(item)))
    .sort((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at));
  const processed: Item[] = [];
  let newestTime = start.at;
  for (const [count, item] of due.entries()) {
    if (count >= maxDetails || Date.now() > until) {
      const again = Date.parse(withOverlap(newestTime));
      const listed = items.filter((one) => processedKeys.has(nameOf(one))).concat(processed);
      const done = listed.filter((one) => Date.parse(one.updated_at) >= again).map(nameOf);
      return { from: start.from, at: newestTime, page: newestTime === start.at ? start.page : 1, done };
    }
    const isOlder = Date.now() - Date.parse(item.updated_at) > overlap;
    found.push(...(await detailsOf(context, kind, item, Date.parse(start.from))));
    if (isOlder) processed.push(item);
    if (Date.parse(item.updated_at) > Date.parse(newestTime)) newestTime = item.updated_at;
  }
  return null;
}

const nameOf = ({ iid, updated_at }: Item): string => `${iid}@${updated_at}`;
