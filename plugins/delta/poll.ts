import { ifCode, type PollBatch, readableItems, type UnreadableItem } from "@signalbox/sdk";
import { z } from "zod";
import type { Client } from "./client.ts";
import { createdEvent, detailsOf, type Item, type PollBounds, type PollContext, type PolledEvent } from "./poll-details.ts";
import { projectId, statesOf } from "./projects.ts";
import * as shapes from "./shapes.ts";

/** Pages of 100 per poll; the next poll continues from there. */
const maxPages = 20;
/** Issues per poll whose comments and activities are read, two requests each; the next poll continues with the others. */
const maxDetails = 500;
/** Time for reading details: about sixty issues within the public platform's rate limit. Milliseconds. */
const maxReadingMs = 120_000;
/** The platform writes an activity at most this long after its change. Milliseconds. */
const justNow = 10_000;
/** Changes made while a page was read are read again; those already reported are recognised by their key. Milliseconds. */
const overlap = 60_000;

const pendingIssues = z.object({ from: z.string(), reported: z.string(), ids: z.array(z.string()) });
/**
 * The platform lists the newest change first and has no start time parameter. `from`: changes before it have been reported.
 * `head`: the newest change of this sweep, where the next sweep ends. `next`: the page to continue with, if a sweep was cut short.
 * `reported`: activities up to it have been reported; `seen`: the newest that this sweep read. `rest`: issues whose details are
 * still to be read, by the `from` and `reported` of their sweep.
 * `done`: issues of the overlap that were read completely, by their `updated_at`.
 */
const cursorShape = z.object({
  v: z.literal(1),
  from: z.string(),
  head: z.string().nullable(),
  next: z.string().nullable(),
  reported: z.string().nullable().default(null),
  seen: z.string().nullable().default(null),
  rest: z.array(pendingIssues).default([]),
  done: z.record(z.string(), z.string()).default({}),
});
type Cursor = z.output<typeof cursorShape>;

/** Reads the created and changed issues of a project and their comments as the events that its webhooks would have sent. */
export async function poll(
  client: Client,
  from: { project: string; since: string; cursor: string | null },
  signal: AbortSignal,
): Promise<PollBatch> {
  const project = await projectId(client, from.project, signal);
  const cursor = cursorOf(from.cursor, from.since);
  const bounds: PollBounds = { from: cursor.from, reported: cursor.reported ?? cursor.from };
  const startedAt = Date.now();
  const unreadable: UnreadableItem[] = [];
  const listed = await listChanged({ client, project, signal, unreadable }, cursor);
  const pending = cursor.rest.flatMap(({ ids, ...before }): DueItem[] => ids.map((id) => ({ id, item: null, bounds: before })));
  const pendingIds = new Set(pending.map(({ id }) => id));
  const items = listed.items.filter(({ id, updated_at }) => !pendingIds.has(id) && cursor.done[id] !== updated_at);
  const dueItems: DueItem[] = [...pending, ...items.map((item) => ({ id: item.id, item, bounds }))];
  const states = dueItems.length > 0 ? await statesOf(client, project, signal) : [];
  const names = new Map(states.map(({ id, name }) => [id, name]));
  const reading: PollContext = { client, project, signal, since: from.since, states: names, unreadable };
  const isNew = (item: Item) => Date.parse(item.created_at) >= Date.parse(cursor.from);
  const found: PolledEvent[] = items.filter(isNew).map((item) => createdEvent(reading, item));
  const { count, seen } = await readDetails(reading, dueItems, found, listed.nextCursor.seen);
  const events = found.sort((a, b) => Date.parse(a.when) - Date.parse(b.when));
  const isComplete = listed.nextCursor.next === null;
  const newestTime = isComplete && seen !== null && seen > bounds.reported ? seen : cursor.reported;
  const rest = groupByIssue(dueItems.slice(count));
  const done = processedItems(listed, rest, startedAt);
  const nextCursor: Cursor = { ...listed.nextCursor, rest, done, seen: isComplete ? null : seen, reported: newestTime };
  return { events: events.map(({ headers, payload }) => ({ headers, payload })), cursor: JSON.stringify(nextCursor), unreadable };
}

/** Issues that the next sweep lists again and can skip. Very recent changes may still get their activity. */
function processedItems(
  listed: { items: readonly Item[]; nextCursor: Cursor },
  rest: Cursor["rest"],
  startedAt: number,
): Cursor["done"] {
  const open = new Set(rest.flatMap(({ ids }) => ids));
  const from = Date.parse(listed.nextCursor.from);
  const items = listed.items.filter(({ id, updated_at }) => {
    const time = Date.parse(updated_at);
    return time >= from && time < startedAt - justNow && !open.has(id);
  });
  return Object.fromEntries(items.slice(0, 2_000).map(({ id, updated_at }) => [id, updated_at]));
}

interface DueItem {
  readonly id: string;
  /** `null` if it comes from an earlier poll: it is then read again. */
  readonly item: Item | null;
  readonly bounds: PollBounds;
}

/** Reads the details of as many issues as one poll may. */
async function readDetails(context: PollContext, due: readonly DueItem[], found: PolledEvent[], before: string | null) {
  const ends = Date.now() + maxReadingMs;
  let [count, seen] = [0, before];
  for (const one of due.slice(0, maxDetails)) {
    if (Date.now() > ends) break;
    const item = one.item ?? (await find(context, one.id));
    const details = item && (await detailsOf(context, item, one.bounds));
    found.push(...(details?.events ?? []));
    if (details?.newest && details.newest > (seen ?? "")) seen = details.newest;
    count += 1;
  }
  return { count, seen };
}

function groupByIssue(due: readonly DueItem[]): z.output<typeof pendingIssues>[] {
  const groups = new Map<string, { from: string; reported: string; ids: string[] }>();
  for (const { id, bounds } of due) {
    const name = `${bounds.from} ${bounds.reported}`;
    const group = groups.get(name) ?? { ...bounds, ids: [] };
    groups.set(name, group);
    if (!group.ids.includes(id)) group.ids.push(id);
  }
  return [...groups.values()];
}

function cursorOf(text: string | null, since: string): Cursor {
  try {
    return cursorShape.parse(JSON.parse(text ?? ""));
  } catch {
    return { v: 1, from: new Date(since).toISOString(), head: null, next: null, reported: null, seen: null, rest: [], done: {} };
  }
}

async function listChanged(
  { client, project, signal, unreadable }: Omit<PollContext, "since" | "states">,
  start: Cursor,
): Promise<{ items: Item[]; nextCursor: Cursor }> {
  const items = new Map<string, Item>();
  const route = "GET /workspaces/{slug}/projects/{project}/issues/";
  let { head, next } = start;
  for (let page = 0; page < maxPages; page++) {
    const query = { order_by: "-updated_at", per_page: 100, cursor: next ?? undefined };
    const path = { slug: client.slug, project };
    const { data } = await client.read({ route, path, query, schema: shapes.lists.issues, signal });
    const readable = readableItems(shapes.polledIssue, data.results, "issues", unreadable);
    head ??= readable[0]?.updated_at ?? null;
    const fresh = readable.filter((item) => Date.parse(item.updated_at) >= Date.parse(start.from));
    for (const item of fresh) items.set(item.id, item);
    if (fresh.length < readable.length || !data.next_page_results || !data.next_cursor) {
      const end =
        head === null ? start.from : new Date(Math.max(Date.parse(head) - overlap, Date.parse(start.from))).toISOString();
      return { items: [...items.values()], nextCursor: { ...start, from: end, head: null, next: null } };
    }
    next = data.next_cursor;
  }
  return { items: [...items.values()], nextCursor: { ...start, head, next } };
}

/** `null` if it was deleted meanwhile or cannot be read. */
async function find({ client, project, signal, unreadable }: PollContext, issue: string): Promise<Item | null> {
  const route = "GET /workspaces/{slug}/projects/{project}/issues/{issue}/";
  const path = { slug: client.slug, project, issue };
  const found = await client.read({ route, path, schema: shapes.polled, signal }).catch(ifCode("not_found", null));
  return found === null ? null : (readableItems(shapes.polledIssue, [found.data], "issues", unreadable)[0] ?? null);
}
