import { type HttpClient, PluginError, type PostedComment, valueAt, writeShorter } from "@signalbox/sdk";
import type { z } from "zod";
import { isMarked, markedBody } from "./bodies.ts";
import type { Convert } from "./conversions.ts";
import { type Settings, webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";
import { internalProperty, visibilityOf } from "./visibility.ts";

export interface Account {
  readonly client: HttpClient;
  readonly connection: Settings;
  readonly convert: Convert;
  readonly signal: AbortSignal;
}

export const route = "/issue/{issue}/comment";
/** Pages of 100; the platform allows 5,000 comments on an issue. */
export const maxPages = 60;

/** Who can read a comment. `private`: only people who can read internal comments, or whom its thread names. */
interface Visibility {
  readonly private?: boolean | undefined;
  readonly thread?: string | null | undefined;
}

type Post = { readonly body: string } & Visibility;

/** Throws `unsupported` where the comment would be visible to more people than what it answers. */
export async function postComment(account: Account, issue: string, post: Post, key: string): Promise<PostedComment> {
  const { client, connection, signal } = account;
  return writeShorter(post.body, async (shown) => {
    const body = await bodyOfPost(account, { ...post, body: shown }, key);
    const { data } = await client.write({ route: `POST ${route}`, path: { issue }, body, schema: shapes.comment, signal });
    return postedCommentOf(connection, issue, data.id);
  });
}

/** Replaces the text and the key of a comment. The restriction is sent again, because an edit without one removes it. */
export async function updateComment(
  account: Account,
  issue: string,
  { id }: PostedComment,
  { key, ...post }: Post & { readonly key: string },
): Promise<PostedComment> {
  const { client, connection, signal } = account;
  return writeShorter(post.body, async (shown) => {
    const body = await bodyOfPost(account, { ...post, body: shown }, key);
    const one = { route: `PUT ${route}/{id}`, path: { issue, id }, body, schema: shapes.comment, signal };
    return postedCommentOf(connection, issue, (await client.write(one)).data.id);
  });
}

async function bodyOfPost({ connection, convert }: Account, { body, thread, ...post }: Post, key: string) {
  const visibility = thread ? visibilityOf(thread) : undefined;
  if (thread && visibility === undefined)
    throw new PluginError("unsupported", "the comment that it answers is restricted, and the webhook does not say to whom");
  const properties = [{ key: shapes.ownProperty, value: { key } }, ...(post.private ? [internalProperty] : [])];
  return { body: await markedBody(convert, body, key, connection), properties, ...(visibility && { visibility }) };
}

/**
 * Only service projects have internal comments. In other projects a comment is restricted to a group or role, which a tool
 * does not know. Throws `unsupported`.
 */
export async function requireInternalComments({ client, signal }: Account, issue: string): Promise<void> {
  const request = {
    route: "GET /issue/{issue}",
    path: { issue },
    query: { fields: "project" },
    schema: shapes.issueFields,
    signal,
  };
  const { data } = await client.read(request);
  if (valueAt(data.fields, "project", "projectTypeKey") === "service_desk") return;
  throw new PluginError(
    "unsupported",
    `${data.key} is not in a service project, so it has no internal comments; answer without this tool: the final answer is restricted like the comment that it answers`,
  );
}

/** Finds the comment with `key` in its property, or with the marker of `key` in its text, newest first. */
export async function findComment(
  { client, connection, signal }: Account,
  issue: string,
  key: string,
): Promise<PostedComment | null> {
  for (let page = 0; page < maxPages; page++) {
    const query = { startAt: page * 100, maxResults: 100, orderBy: "-created", expand: "properties" };
    const { data } = await client.read({ route: `GET ${route}`, path: { issue }, query, schema: shapes.comments, signal });
    const found = data.comments.find((comment) => comment !== null && hasKey(comment, key));
    if (found) return postedCommentOf(connection, issue, found.id);
    if (data.startAt + data.comments.length >= data.total || data.comments.length === 0) return null;
  }
  return null;
}

export function hasKey(comment: z.output<typeof shapes.comment>, key: string): boolean {
  const own = comment.properties?.find((entry) => entry.key === shapes.ownProperty);
  return own === undefined ? isMarked(comment.body, key) : valueAt(own.value, "key") === key;
}

export const postedCommentOf = (connection: Settings, issue: string, id: string): PostedComment => ({
  id,
  url: `${webUrlOf(connection)}/browse/${issue}?focusedCommentId=${id}`,
});
