import { addMarker, type PostedComment, readMarker, sanitizeText, truncate } from "@signalbox/sdk";
import type { Address } from "./address.ts";
import type { Client } from "./client.ts";
import { pageOf } from "./paging.ts";
import * as shapes from "./shapes.ts";

/** Longest comment that the platform accepts, in characters. */
export const longest = 65_536;
export const route = "/repos/{owner}/{repo}/issues/{issue_number}/comments";
/** Pages of 100. The platform allows 2,500 comments on an issue; a self-hosted server may allow more. */
export const maxPages = 1000;

export async function postComment(
  client: Client,
  address: Address,
  body: string,
  key: string,
  signal: AbortSignal,
): Promise<PostedComment> {
  const { data } = await client.write(`POST ${route}`, { ...address, body: commentBody(body, key) }, shapes.comment, signal);
  return postedOf(data);
}

/** The text replaces the whole comment, so the marker of `key` does too. */
export async function updateComment(
  client: Client,
  { owner, repo }: Address,
  { id }: PostedComment,
  { body, key }: { body: string; key: string },
  signal: AbortSignal,
): Promise<PostedComment> {
  const path = "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}";
  const sent = { owner, repo, comment_id: id, body: commentBody(body, key) };
  return postedOf((await client.write(path, sent, shapes.comment, signal)).data);
}

/** The note comes first: after the text, an unclosed code fence would swallow it. */
export function commentBody(body: string, key: string): string {
  const whole = addMarker(sanitizeText(body), key);
  if (whole.length <= longest) return whole;
  const note = `> **Cut off.** This text has ${body.length} characters; a comment holds ${longest}. The end is missing.`;
  return truncate(addMarker(`${note}\n\n${sanitizeText(body)}`, key), longest);
}

/** Finds the comment with the marker of `key`; newest page first. */
export async function findComment(
  client: Client,
  address: Address,
  key: string,
  signal: AbortSignal,
): Promise<PostedComment | null> {
  const load = (page: number) => client.read(`GET ${route}`, { ...address, per_page: 100, page }, shapes.comments, signal);
  const among = (list: readonly { id: number | bigint; html_url: string; body?: string | null | undefined }[]) =>
    list.findLast((comment) => readMarker(comment.body) === key);
  const first = await load(1);
  let found = among(first.data);
  let forward = pageOf(first.link, "last") === null ? pageOf(first.link, "next") : null;
  for (let page = pageOf(first.link, "last") ?? 1; !found && page > 1; page--) found = among((await load(page)).data);
  // Some servers do not name the last page: read those from the first page on.
  while (!found && forward !== null && forward <= maxPages) {
    const next = await load(forward);
    found = among(next.data);
    forward = pageOf(next.link, "next");
  }
  return found ? postedOf(found) : null;
}

export const postedOf = (comment: { id: number | bigint; html_url: string }): PostedComment => ({
  id: String(comment.id),
  url: comment.html_url,
});
