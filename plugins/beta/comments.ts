import { addMarker, type HttpClient, type PostedComment, readMarker, sanitizeText, truncate } from "@signalbox/sdk";
import type { Address } from "./address.ts";
import { withoutQuickActions } from "./quick-actions.ts";
import { type Settings, webOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

/** Longest note or description that the platform accepts, in characters. */
export const longest = 1_000_000;
export const route = "/projects/{project}/{kind}/{iid}/notes";
/** Pages of 100; the platform allows 5,000 notes on an issue. */
export const maxPages = 60;

export type Account = { readonly client: HttpClient; readonly connection: Settings; readonly signal: AbortSignal };

export async function postComment(
  { client, connection, signal }: Account,
  address: Address,
  body: string,
  key: string,
): Promise<PostedComment> {
  const sent = { body: commentBody(body, key) };
  const { data } = await client.write({ route: `POST ${route}`, path: { ...address }, body: sent, schema: shapes.note, signal });
  return postedOf(connection, address, data.id);
}

/** The text replaces the whole note, so the marker of `key` does too. */
export async function updateComment(
  { client, connection, signal }: Account,
  address: Address,
  { id }: PostedComment,
  { body, key }: { body: string; key: string },
): Promise<PostedComment> {
  const path = { ...address, note: id };
  const sent = { body: commentBody(body, key) };
  const { data } = await client.write({ route: `PUT ${route}/{note}`, path, body: sent, schema: shapes.note, signal });
  return postedOf(connection, address, data.id);
}

/** The note about the cut comes first: after the text, an unclosed code fence would swallow it. */
export function commentBody(body: string, key: string): string {
  const text = withoutQuickActions(sanitizeText(body));
  const whole = addMarker(text, key);
  if (whole.length <= longest) return whole;
  const note = `> **Cut off.** This text has ${body.length} characters; a comment holds ${longest}. The end is missing.`;
  return truncate(addMarker(`${note}\n\n${text}`, key), longest);
}

/** Finds the note with the marker of `key`; newest first. */
export async function findComment(
  { client, connection, signal }: Account,
  address: Address,
  key: string,
): Promise<PostedComment | null> {
  for (let page = 1; page <= maxPages; page++) {
    const query = { per_page: 100, page, sort: "desc", order_by: "created_at" };
    const { data } = await client.read({ route: `GET ${route}`, path: { ...address }, query, schema: shapes.notes, signal });
    const found = data.find((note) => readMarker(note.body) === key);
    if (found) return postedOf(connection, address, found.id);
    if (data.length < 100) return null;
  }
  return null;
}

/** The platform does not return a note's URL. For a project given by number, the API's URL is used. */
export function postedOf(connection: Settings, { project, kind, iid }: Address, id: number): PostedComment {
  const web = webOf(connection);
  const url = /^\d+$/.test(project)
    ? `${web}/api/v4/projects/${project}/${kind}/${iid}/notes/${id}`
    : `${web}/${project}/-/${kind}/${iid}#note_${id}`;
  return { id: String(id), url };
}
