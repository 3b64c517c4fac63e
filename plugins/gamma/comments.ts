import { type HttpClient, PluginError, type PostedComment, valueAt } from "@signalbox/sdk";
import type { z } from "zod";
import { isMarked, markedBody } from "./bodies.ts";
import type { Convert } from "./conversions.ts";
import { type Settings, webOf } from "./settings.ts";
import * as shapes from "./shapes.ts";
import { internalProperty, visibilityOf } from "./visibility.ts";

export interface Account {
  readonly client: HttpClient;
  readonly connection: Settings;
  readonly convert: Convert;
  readonly signal: AbortSignal;
}

/** Name of the comment property that holds the key. */
export const property = "signalbox";
export const route = "/issue/{issue}/comment";
/** Pages of 100; the platform allows 5,000 comments on an issue. */
export const maxPages = 60;

/** Where a comment can be read: `private` only by those who can read internal comments, or whom its thread names. */
export interface Visibility {
  readonly private?: boolean | undefined;
  readonly thread?: string | null | undefined;
}

/** Throws `unsupported` where the comment would be visible to more people than what it answers. */
export async function postComment(
  { client, connection, convert, signal }: Account,
  issue: string,
  post: { readonly body: string } & Visibility,
  key: string,
): Promise<PostedComment> {
  const thread = post.thread ?? null;
  const visibility = thread === null ? undefined : visibilityOf(thread);
  if (thread !== null && visibility === undefined)
    throw new PluginError(
      "unsupported",
      "the comment is restricted to people that the webhook does not name; nothing was posted",
    );
  const properties = [{ key: property, value: { key } }, ...(post.private ? [internalProperty] : [])];
  const sent = { body: await markedBody(convert, post.body, key, connection), properties, ...(visibility && { visibility }) };
  const { data } = await client.write({ route: `POST ${route}`, path: { issue }, body: sent, schema: shapes.comment, signal });
  return postedOf(connection, issue, data.id);
}

/** Replaces the text and the key of a comment. */
export async function updateComment(
  { client, connection, convert, signal }: Account,
  issue: string,
  { id }: PostedComment,
  { body, key }: { body: string; key: string },
): Promise<PostedComment> {
  const sent = { body: await markedBody(convert, body, key, connection), properties: [{ key: property, value: { key } }] };
  const one = { route: `PUT ${route}/{id}`, path: { issue, id }, body: sent, schema: shapes.comment, signal };
  return postedOf(connection, issue, (await client.write(one)).data.id);
}

/** Finds the comment with `key` in its property or the marker of `key` in its text; newest first. */
export async function findComment(
  { client, connection, signal }: Account,
  issue: string,
  key: string,
): Promise<PostedComment | null> {
  for (let page = 0; page < maxPages; page++) {
    const query = { startAt: page * 100, maxResults: 100, orderBy: "-created", expand: "properties" };
    const { data } = await client.read({ route: `GET ${route}`, path: { issue }, query, schema: shapes.comments, signal });
    const found = data.comments.find((comment) => hasKey(comment, key));
    if (found) return postedOf(connection, issue, found.id);
    if (data.startAt + data.comments.length >= data.total || data.comments.length === 0) return null;
  }
  return null;
}

export function hasKey(comment: z.output<typeof shapes.comment>, key: string): boolean {
  const own = comment.properties?.find((entry) => entry.key === property);
  return own === undefined ? isMarked(comment.body, key) : valueAt(own.value, "key") === key;
}

export const postedOf = (connection: Settings, issue: string, id: string): PostedComment => ({
  id,
  url: `${webOf(connection)}/browse/${issue}?focusedCommentId=${id}`,
});
