import { ifCode, type Json, readableItems, timestampAt, type UnreadableItem, valueAt, type WebhookPayload } from "@signalbox/sdk";
import type { z } from "zod";
import type { Client } from "./client.ts";
import * as shapes from "./shapes.ts";

export type Item = z.output<typeof shapes.polledIssue>;
export type PolledEvent = WebhookPayload & { readonly when: string };

export interface PollContext {
  readonly client: Client;
  readonly project: string;
  readonly signal: AbortSignal;
  /** Comments written before are never reported. ISO 8601. */
  readonly since: string;
  /** Names of states by their id. */
  readonly states: ReadonlyMap<string, string>;
  /** What could not be read so far. */
  readonly unreadable: UnreadableItem[];
}
/** Already reported: changes up to `from`, and activities up to `reported`. ISO 8601. */
export interface PollBounds {
  readonly from: string;
  readonly reported: string;
}

const base = "/workspaces/{slug}/projects/{project}/issues/{issue}";
const maxPages = 10;
/** An activity is written within this time of its change. Milliseconds. */
const activityDelayMs = 10_000;
/** A background worker of the platform moves `updated_at` of a commented issue at most this much later. Milliseconds. */
const commentDelayMs = 600_000;
const after = (value: unknown, member: string, time: string): boolean =>
  Date.parse(timestampAt(value, member) ?? "") > Date.parse(time);

/** The creation of an issue, in the shape of its webhook. */
export const createdEvent = (reading: PollContext, item: Item): PolledEvent =>
  polledEvent(reading, item, { event: "issue", action: "created" }, valueAt(item, "created_by"), "created", item.created_at);

/**
 * The events of an issue since then: its change, with the move between states if there was one, and its new
 * comments. `newest`: time of the last activity read.
 */
export async function detailsOf(
  context: PollContext,
  item: Item,
  bounds: PollBounds,
): Promise<{ events: PolledEvent[]; newest: string | null }> {
  const activities = await activitiesOf(context, item.id);
  const listedComments = await listAll(context, "comments", item.id);
  const written = new Date(Math.max(Date.parse(bounds.from) - commentDelayMs, Date.parse(context.since))).toISOString();
  const events = listedComments.filter((one) => after(one, "created_at", written)).map((one) => commentEvent(item, one));
  const fresh = (activities ?? []).filter((one) => after(one, "created_at", bounds.reported));
  const changes = fresh.filter((one) => valueAt(one, "field") !== "comment" && valueAt(one, "verb") !== "created");
  // A comment also changes its issue. If an activity explains a change, only the activity is reported.
  const about = new Date(Date.parse(item.updated_at) - activityDelayMs).toISOString();
  const isExplained = activities?.some((one) => after(one, "created_at", about)) ?? false;
  const isNew = Date.parse(item.created_at) >= Date.parse(bounds.from);
  const unknown = !isExplained && !isNew && Date.parse(item.updated_at) >= Date.parse(bounds.from);
  if (changes.length > 0 || unknown) events.push(updatedEvent(context, item, changes));
  const newest =
    fresh
      .map((one) => timestampAt(one, "created_at") ?? "")
      .sort()
      .at(-1) ?? null;
  return { events, newest };
}

function updatedEvent(context: PollContext, item: Item, changes: readonly Json[]): PolledEvent {
  const last = changes.toSorted((a, b) => (timestampAt(a, "created_at") ?? "").localeCompare(timestampAt(b, "created_at") ?? ""));
  const move = last.findLast((one) => valueAt(one, "field") === "state");
  const shown = move ?? last.at(-1);
  const [old_value, new_value] = [valueAt(shown, "old_value") ?? null, valueAt(shown, "new_value") ?? null];
  const stateChange = move === undefined ? {} : { changes: { state: { old: old_value, new: new_value } } };
  const activity = shown === undefined ? {} : { field: valueAt(shown, "field") ?? null, old_value, new_value };
  const actor = valueAt(shown, "actor") ?? valueAt(item, "updated_by");
  const when = `updated@${new Date(item.updated_at).toISOString().slice(0, 19)}`;
  return polledEvent(
    context,
    { ...item, ...stateChange },
    { event: "issue", action: "updated", activity },
    actor,
    when,
    item.updated_at,
  );
}

function commentEvent(item: Item, comment: Json): PolledEvent {
  const when = timestampAt(comment, "created_at") ?? item.updated_at;
  const activity = { actor: { id: valueAt(comment, "actor") ?? valueAt(comment, "created_by") ?? null } };
  const data = { ...(comment as object), issue: item.id };
  const payload = { event: "issue_comment", action: "created", data, activity } as unknown as Json;
  return { headers: { "x-delta-delivery": `poll:issue/${item.id}/comment/${valueAt(comment, "id")}` }, payload, when };
}

function polledEvent(
  { project, states }: PollContext,
  item: Item,
  content: { readonly event: string; readonly action: string; readonly activity?: object },
  actor: unknown,
  name: string,
  when: string,
): PolledEvent {
  const state = valueAt(item, "state");
  const known = typeof state === "string" ? states.get(state) : undefined;
  const data = { ...item, project, ...(known === undefined ? {} : { state: { id: state, name: known } }) };
  const activity = { ...content.activity, actor: { id: typeof actor === "string" ? actor : null } };
  const payload = JSON.parse(JSON.stringify({ ...content, data, activity })) as Json;
  return { headers: { "x-delta-delivery": `poll:issue/${item.id}/${name}` }, payload, when };
}

/** `null` on servers without this endpoint. */
const activitiesOf = (reading: PollContext, issue: string): Promise<Json[] | null> =>
  listAll(reading, "activities", issue).catch(ifCode("not_found", null));

async function listAll(
  { client, project, signal, unreadable }: PollContext,
  what: "comments" | "activities",
  issue: string,
): Promise<Json[]> {
  const path = { slug: client.slug, project, issue };
  const found: Json[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const query = {
      route: `GET ${base}/${what}/`,
      path,
      query: { per_page: 100, cursor },
      schema: shapes.lists.anything,
      signal,
    };
    const { data } = await client.read(query);
    found.push(...readableItems(shapes.polledDetail, data.results, `${what} of issue ${issue}`, unreadable));
    if (!data.next_page_results || !data.next_cursor) break;
    cursor = data.next_cursor;
  }
  return found;
}
