import { at, type Json, PluginError, type Polled, type WebhookPayload } from "@signalbox/sdk";
import { z } from "zod";
import { isId } from "./address.ts";
import type { Client } from "./client.ts";
import * as shapes from "./shapes.ts";

/** Pages of 100 in one poll; the next poll goes on from there. */
const mostPages = 20;
/** What changed while a page was read is read again; what was told is known by its key. Milliseconds. */
const overlap = 60_000;

/**
 * The platform lists the newest change first and takes no time to begin at. `from`: changes before it were told of.
 * `head`: the newest change of this sweep, where the next one ends. `next`: the page to go on with, where a sweep was cut.
 */
const cursorShape = z.object({ v: z.literal(1), from: z.string(), head: z.string().nullable(), next: z.string().nullable() });
type Cursor = z.output<typeof cursorShape>;
type Item = z.output<typeof shapes.listed>;

/** The issues of a project that were made or changed, told as webhooks would have told it. */
export async function poll(
  client: Client,
  from: { project: string; since: string; cursor: string | null },
  signal: AbortSignal,
): Promise<Polled> {
  const project = from.project.trim();
  const shown = JSON.stringify(project.slice(0, 200));
  if (!isId(project)) throw new PluginError("invalid_input", `project must be the id of a project, a UUID; it is ${shown}`);
  const cursor = cursorOf(from.cursor, from.since);
  const { items, end } = await changed(client, project, cursor, signal);
  const states = items.length > 0 ? await statesOf(client, project, signal) : new Map<string, string>();
  const events = items
    .toSorted((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at))
    .map((item) => tell(item, project, states, Date.parse(cursor.from)));
  return { events, cursor: JSON.stringify(end) };
}

function cursorOf(text: string | null, since: string): Cursor {
  try {
    return cursorShape.parse(JSON.parse(text ?? ""));
  } catch {
    return { v: 1, from: new Date(since).toISOString(), head: null, next: null };
  }
}

async function changed(
  client: Client,
  project: string,
  start: Cursor,
  signal: AbortSignal,
): Promise<{ items: Item[]; end: Cursor }> {
  const items = new Map<string, Item>();
  const route = "GET /workspaces/{slug}/projects/{project}/issues/";
  let { head, next } = start;
  for (let page = 0; page < mostPages; page++) {
    const query = { order_by: "-updated_at", per_page: 100, cursor: next ?? undefined };
    const path = { slug: client.slug, project };
    const { data } = await client.read({ route, path, query, shape: shapes.listOf(shapes.listed), signal });
    head ??= data.results[0]?.updated_at ?? null;
    const fresh = data.results.filter((item) => Date.parse(item.updated_at) >= Date.parse(start.from));
    for (const item of fresh) items.set(item.id, item);
    if (fresh.length < data.results.length || !data.next_page_results || !data.next_cursor) {
      const end =
        head === null ? start.from : new Date(Math.max(Date.parse(head) - overlap, Date.parse(start.from))).toISOString();
      return { items: [...items.values()], end: { v: 1, from: end, head: null, next: null } };
    }
    next = data.next_cursor;
  }
  return { items: [...items.values()], end: { ...start, head, next } };
}

/** Lists tell states by their id alone. */
async function statesOf(client: Client, project: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const route = "GET /workspaces/{slug}/projects/{project}/states/";
  const path = { slug: client.slug, project };
  const { data } = await client.read({ route, path, query: { per_page: 100 }, shape: shapes.listOf(shapes.state), signal });
  return new Map(data.results.map(({ id, name }) => [id, name]));
}

function tell(item: Item, project: string, states: ReadonlyMap<string, string>, since: number): WebhookPayload {
  const action = Date.parse(item.created_at) >= since ? "created" : "updated";
  const state = at(item, "state");
  const name = typeof state === "string" ? states.get(state) : undefined;
  const data = { ...item, project, ...(name === undefined ? {} : { state: { id: state, name } }) };
  const actor = action === "created" ? at(item, "created_by") : (at(item, "updated_by") ?? null);
  const payload = JSON.parse(
    JSON.stringify({ event: "issue", action, data, activity: { actor: { id: actor ?? null } } }),
  ) as Json;
  const when = action === "created" ? "created" : `updated@${new Date(item.updated_at).toISOString().slice(0, 19)}`;
  return { headers: { "x-delta-delivery": `poll:issue/${item.id}/${when}` }, payload };
}
