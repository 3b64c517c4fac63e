import { at, type HttpClient, type Json, type OwnEdits, type Polled, timeAt, type WebhookPayload } from "@signalbox/sdk";
import { z } from "zod";
import { type Address, projectOf } from "./address.ts";
import { changeKey } from "./change-key.ts";
import * as shapes from "./shapes.ts";

/** Requests in one poll; the next poll goes on from there. */
const mostRequests = 60;
/** What changed while a page was read, or was written late, is read again; what was told is known by its key. Milliseconds. */
const overlap = 60_000;

/** How far one list was read. */
const position = z.object({
  /** What was opened, closed or written before this was told of. */
  from: z.string(),
  /** `updated_at` of the last item read. */
  at: z.string(),
  /** The page to go on with; over 1 only where one moment fills more than a page. */
  page: z.number().int().positive(),
});
type Position = z.output<typeof position>;
const cursorShape = z.object({ v: z.literal(1), issues: position, merge_requests: position });
type Item = z.output<typeof shapes.listed>[number];
type Kind = Address["kind"];
interface Told extends WebhookPayload {
  readonly when: string;
}
interface Reading {
  readonly client: HttpClient;
  readonly project: string;
  readonly signal: AbortSignal;
  requests: number;
}

/** What changed in a project, told as its webhooks would have told it. */
export async function poll(
  client: HttpClient,
  edits: OwnEdits,
  from: { project: string; since: string; cursor: string | null },
  signal: AbortSignal,
): Promise<Polled> {
  const reading: Reading = { client, project: projectOf(from.project), signal, requests: mostRequests };
  const cursor = cursorOf(from.cursor, from.since);
  const told: Told[] = [];
  const ends = { issues: cursor.issues, merge_requests: cursor.merge_requests };
  for (const kind of ["issues", "merge_requests"] as const) {
    const { items, end } = await changed(reading, kind, cursor[kind]);
    for (const item of items) told.push(...(await toldOf(reading, kind, item, cursor[kind].from)));
    ends[kind] = end;
  }
  const events = told.filter((event) => !edits.has(keyIn(event))).sort((a, b) => a.when.localeCompare(b.when));
  return { events: events.map(({ headers, payload }) => ({ headers, payload })), cursor: JSON.stringify({ v: 1, ...ends }) };
}

function cursorOf(text: string | null, since: string): z.output<typeof cursorShape> {
  try {
    return cursorShape.parse(JSON.parse(text ?? ""));
  } catch {
    const start = { from: new Date(since).toISOString(), at: new Date(since).toISOString(), page: 1 };
    return { v: 1, issues: start, merge_requests: start };
  }
}

/** Items by time of change. Asked for by time, not by page: an item changed meanwhile moves to the end of the list. */
async function changed(reading: Reading, kind: Kind, start: Position): Promise<{ items: Item[]; end: Position }> {
  const items = new Map<string, Item>();
  let { at: reached, page } = start;
  const early = (time: string) => new Date(Date.parse(time) - overlap).toISOString();
  let after = early(reached);
  while (reading.requests > mostRequests / 4) {
    reading.requests -= 1;
    const query = { updated_after: after, order_by: "updated_at", sort: "asc", per_page: 100, page };
    const request = {
      route: "GET /projects/{project}/{kind}",
      path: { project: reading.project, kind },
      query,
      signal: reading.signal,
    };
    const { data } = await reading.client.read({ ...request, shape: shapes.listed });
    for (const item of data) items.set(`${item.iid}`, item);
    const last = data.at(-1);
    if (last && Date.parse(last.updated_at) > Date.parse(reached)) reached = last.updated_at;
    if (data.length < 100) return { items: [...items.values()], end: { from: early(reached), at: reached, page: 1 } };
    page = last && Date.parse(last.updated_at) > Date.parse(after) ? 1 : page + 1;
    after = last?.updated_at ?? after;
  }
  return { items: [...items.values()], end: { from: start.from, at: reached, page } };
}

/** New since `from`: open. Closed or merged since: that. Neither: update, by nobody knows whom, unless a note explains it. */
async function toldOf(reading: Reading, kind: Kind, item: Item, from: string): Promise<Told[]> {
  const since = Date.parse(from);
  const is = (member: string) => Date.parse(timeAt(item, member) ?? "") >= since;
  const told: Told[] = [];
  const tellItem = (action: string, user: unknown, when: string) => told.push(tell(reading, kind, item, action, user, when));
  if (is("created_at")) tellItem("open", at(item, "author"), timeAt(item, "created_at") ?? item.updated_at);
  if (is("merged_at"))
    tellItem("merge", at(item, "merge_user") ?? at(item, "merged_by"), timeAt(item, "merged_at") ?? item.updated_at);
  else if (is("closed_at") && at(item, "state") === "closed")
    tellItem("close", at(item, "closed_by"), timeAt(item, "closed_at") ?? item.updated_at);
  const notes = Number(at(item, "user_notes_count")) > 0 ? await newNotes(reading, kind, item, since) : [];
  told.push(...notes);
  if (told.length === 0 && Date.parse(item.updated_at) >= since) tellItem("update", null, item.updated_at);
  return told;
}

async function newNotes(reading: Reading, kind: Kind, item: Item, since: number): Promise<Told[]> {
  if (reading.requests <= 0) return [];
  reading.requests -= 1;
  const request = {
    route: "GET /projects/{project}/{kind}/{iid}/notes",
    path: { project: reading.project, kind, iid: item.iid },
  };
  const query = { per_page: 100, sort: "desc", order_by: "created_at" };
  const { data } = await reading.client.read({ ...request, query, shape: shapes.notes, signal: reading.signal });
  const fresh = data.filter((note) => !note.system && Date.parse(note.created_at ?? "") >= since);
  return fresh.map((note) => {
    const { body, author, ...attributes } = note;
    const member = kind === "issues" ? "issue" : "merge_request";
    const payload = { object_attributes: { ...attributes, note: body, action: "create" }, [member]: item, user: author ?? null };
    return webhook(reading, "Note Hook", "note", payload, item, note.created_at ?? item.updated_at);
  });
}

function tell(reading: Reading, kind: Kind, item: Item, action: string, user: unknown, when: string): Told {
  const labels = at(item, "labels");
  const titles = Array.isArray(labels) ? labels.map((title) => ({ title })) : [];
  const payload = { object_attributes: { ...item, action }, labels: titles, user: user ?? null };
  return kind === "issues"
    ? webhook(reading, "Issue Hook", "issue", payload, item, when)
    : webhook(reading, "Merge Request Hook", "merge_request", payload, item, when);
}

function webhook(reading: Reading, event: string, kind: string, told: Record<string, unknown>, item: Item, when: string): Told {
  const project = { id: at(item, "project_id"), path_with_namespace: pathOf(reading.project, item) };
  const payload = JSON.parse(JSON.stringify({ object_kind: kind, event_type: kind, project, ...told })) as Json;
  const key = changeKey(event, String(at(payload, "object_attributes", "action")), payload);
  return { headers: { "x-beta-event": event, ...(key === null ? {} : { "x-beta-event-uuid": `poll:${key}` }) }, payload, when };
}

/** A project may be polled by its number; webhooks name its path. */
function pathOf(project: string, item: Item): string {
  const full = at(item, "references", "full");
  return /^\d+$/.test(project) && typeof full === "string" ? full.replace(/[#!]\d+$/, "") : project;
}

const keyIn = ({ headers }: Told): string | null => headers["x-beta-event-uuid"]?.slice("poll:".length) ?? null;
