import {
  type HttpClient,
  ifCode,
  type Json,
  readableItems,
  timestampAt,
  type UnreadableItem,
  valueAt,
  type WebhookPayload,
} from "@signalbox/sdk";
import type { z } from "zod";
import type { Address } from "./address.ts";
import { changeKey } from "./change-key.ts";
import { type LabelChange, labelChanges } from "./label-changes.ts";
import * as shapes from "./shapes.ts";

export type Kind = Address["kind"];
export type Item = z.output<typeof shapes.listItem>;
export interface PolledEvent extends WebhookPayload {
  readonly when: string;
}
export interface PollContext {
  readonly client: HttpClient;
  readonly project: string;
  readonly signal: AbortSignal;
  /** What could not be read so far. */
  readonly unreadable: UnreadableItem[];
}

/** Pages of 100 label events per item; later ones are not reported. */
const maxPages = 10;
/** An event explains a change of the item if their times differ by at most this. Milliseconds. */
const close = 2_000;

/**
 * The events of an item since then: opened; closed or merged; each edit of its labels; each new note. If none of these
 * explains a change, it is an update by an unknown actor.
 */
export async function detailsOf(context: PollContext, kind: Kind, item: Item, since: number): Promise<PolledEvent[]> {
  const events = milestones(context, kind, item, since);
  const isKnown = events.length > 0;
  for (const change of labelChanges(await labelEvents(context, kind, item), item, since)) {
    events.push(labelsEvent(context, kind, item, change));
  }
  const notes = Number(valueAt(item, "user_notes_count")) > 0 ? await notesOf(context, kind, item) : [];
  events.push(...newNotes(context, kind, item, notes, since));
  // An edited note moves the time of its item, too.
  const isExplained =
    isKnown ||
    events.some(({ when }) => isClose(when, item.updated_at)) ||
    notes.some(({ system, updated_at }) => !system && updated_at && isClose(updated_at, item.updated_at));
  if (!isExplained && Date.parse(item.updated_at) >= since)
    events.push(polledEvent(context, kind, item, { action: "update", user: null, when: item.updated_at }));
  return events;
}

const isClose = (one: string, other: string): boolean => Math.abs(Date.parse(one) - Date.parse(other)) <= close;

function milestones(context: PollContext, kind: Kind, item: Item, since: number): PolledEvent[] {
  const events: PolledEvent[] = [];
  const addStateEvent = (member: string, action: string, user: unknown) => {
    const when = timestampAt(item, member);
    if (when === null || Date.parse(when) < since) return false;
    events.push(polledEvent(context, kind, item, { action, user, when }));
    return true;
  };
  addStateEvent("created_at", "open", valueAt(item, "author"));
  const mergeEvent = addStateEvent("merged_at", "merge", valueAt(item, "merge_user") ?? valueAt(item, "merged_by"));
  if (!mergeEvent && valueAt(item, "state") === "closed") addStateEvent("closed_at", "close", valueAt(item, "closed_by"));
  return events;
}

type Notes = readonly z.output<typeof shapes.polledNote>[];

/** Empty if the item was deleted meanwhile. */
async function notesOf(context: PollContext, kind: Kind, item: Item): Promise<Notes> {
  const request = {
    route: "GET /projects/{project}/{kind}/{iid}/notes",
    path: { project: context.project, kind, iid: item.iid },
  };
  const query = { per_page: 100, sort: "desc", order_by: "created_at" };
  const notes = context.client.read({ ...request, query, schema: shapes.detailList, signal: context.signal });
  const { data } = await notes.catch(ifCode("not_found", { data: [] }));
  return readableItems(shapes.polledNote, data, `notes of ${kind} ${item.iid}`, context.unreadable);
}

function newNotes(context: PollContext, kind: Kind, item: Item, notes: Notes, since: number): PolledEvent[] {
  const fresh = notes.filter((note) => !note.system && Date.parse(note.created_at) >= since);
  return fresh.map((note) => {
    const { body, author, ...attributes } = note;
    const member = kind === "issues" ? "issue" : "merge_request";
    const payload = { object_attributes: { ...attributes, note: body, action: "create" }, [member]: item, user: author ?? null };
    const isSecret = isConfidential(item) || note.internal === true || note.confidential === true;
    return webhook(context, { hook: "Note Hook", kind: "note", isSecret }, payload, item, note.created_at);
  });
}

/** Empty if the item was deleted meanwhile. */
async function labelEvents(context: PollContext, kind: Kind, item: Item): Promise<Json[]> {
  const route = "GET /projects/{project}/{kind}/{iid}/resource_label_events";
  const path = { project: context.project, kind, iid: item.iid };
  const events: Json[] = [];
  for (let page = 1; page <= maxPages; page++) {
    const request = { route, path, query: { per_page: 100, page }, schema: shapes.detailList, signal: context.signal };
    const { data } = await context.client.read(request).catch(ifCode("not_found", { data: [] }));
    const what = `label events of ${kind} ${item.iid}`;
    events.push(...(readableItems(shapes.labelEvent, data, what, context.unreadable) as Json[]));
    if (!Array.isArray(data) || data.length < 100) break;
  }
  return events;
}

/** The webhook of that edit: with the labels at that time, and with the item's `updated_at` if the edit is its last change. */
function labelsEvent(context: PollContext, kind: Kind, item: Item, { when, user, previous, current }: LabelChange): PolledEvent {
  const labels = [...current];
  const updated_at = isClose(when, item.updated_at) ? item.updated_at : when;
  const changes = { labels: { previous: previous.map(withTitle), current: current.map(withTitle) } };
  return polledEvent(context, kind, { ...item, labels, updated_at }, { action: "update", user, when, more: { changes } });
}

const withTitle = (title: unknown) => ({ title });

/** A change of an item. */
interface ItemChange {
  readonly action: string;
  /** Who made it; `null`: unknown. */
  readonly user: unknown;
  readonly when: string;
  /** Further members of the payload. */
  readonly more?: object;
}

function polledEvent(context: PollContext, kind: Kind, item: Item, { action, user, when, more }: ItemChange): PolledEvent {
  const labels = valueAt(item, "labels");
  const titles = Array.isArray(labels) ? labels.map(withTitle) : [];
  const payload = { object_attributes: { ...item, action }, labels: titles, ...more, user: user ?? null };
  const isSecret = isConfidential(item);
  return kind === "issues"
    ? webhook(context, { hook: "Issue Hook", kind: "issue", isSecret }, payload, item, when)
    : webhook(context, { hook: "Merge Request Hook", kind: "merge_request", isSecret }, payload, item, when);
}

const isConfidential = (item: Item): boolean => valueAt(item, "confidential") === true;

/** Confidential events have hook names of their own, which no default mapping handles. */
function webhook(
  context: PollContext,
  { hook, kind, isSecret }: { readonly hook: string; readonly kind: string; readonly isSecret: boolean },
  content: Record<string, unknown>,
  item: Item,
  when: string,
): PolledEvent {
  const [event, event_type] = isSecret ? [`Confidential ${hook}`, `confidential_${kind}`] : [hook, kind];
  const project = { id: valueAt(item, "project_id"), path_with_namespace: pathOf(context.project, item) };
  const payload = JSON.parse(JSON.stringify({ object_kind: kind, event_type, project, ...content })) as Json;
  const key = changeKey(event, String(valueAt(payload, "object_attributes", "action")), payload);
  return { headers: { "x-beta-event": event, ...(key === null ? {} : { "x-beta-event-uuid": `poll:${key}` }) }, payload, when };
}

/** A project may be polled by its number, or in another case; webhooks contain its path as the platform spells it. */
function pathOf(project: string, item: Item): string {
  const full = valueAt(item, "references", "full");
  const path = typeof full === "string" ? full.replace(/[#!]\d+$/, "") : project;
  return /^\d+$/.test(project) || path.toLowerCase() === project.toLowerCase() ? path : project;
}
