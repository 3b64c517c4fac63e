import { addMarker, type PostedComment, readMarker, sanitizeText, truncate, writeShorter } from "@signalbox/sdk";
import type { z } from "zod";
import type { Client, Parameters } from "./client.ts";
import { findAllDiscussionComments, postDiscussionComment, updateDiscussionComment } from "./discussions.ts";
import { pageOf } from "./paging.ts";
import type { Place } from "./place.ts";
import * as shapes from "./shapes.ts";

/** Longest comment that the platform accepts, in characters. */
export const maxCommentLength = 65_536;
/** Pages of 100. The platform allows 2,500 comments on an issue; a self-hosted server may allow more. */
export const maxPages = 1000;

/** The places whose comments the REST API reads and writes. */
type RestPlace = Exclude<Place, { kind: "discussion" }>;

interface Routes {
  readonly list: string;
  readonly post: string;
  /** One comment, with its id as `{id}`. */
  readonly one: string;
  readonly parameters: Parameters;
  /** Written beside the text. */
  readonly more: Parameters;
}

/** Where the comments of a place are listed, written, changed and deleted. */
export function routesOf({ owner, repo, ...place }: RestPlace): Routes {
  const base = "/repos/{owner}/{repo}";
  if (place.kind === "review") {
    const list = `${base}/pulls/{pull_number}/comments`;
    const parameters = { owner, repo, pull_number: place.pull_number, comment_id: place.comment_id };
    return { list, post: `${list}/{comment_id}/replies`, one: `${base}/pulls/comments/{id}`, parameters, more: {} };
  }
  if (place.kind === "commit") {
    const list = `${base}/commits/{commit_sha}/comments`;
    const more = place.path === null ? {} : { path: place.path, position: place.position };
    const parameters = { owner, repo, commit_sha: place.commit_sha };
    return { list, post: list, one: `${base}/comments/{id}`, parameters, more };
  }
  const list = `${base}/issues/{issue_number}/comments`;
  const parameters = { owner, repo, issue_number: place.issue_number };
  return { list, post: list, one: `${base}/issues/comments/{id}`, parameters, more: {} };
}

export async function postComment(
  client: Client,
  place: Place,
  body: string,
  key: string,
  signal: AbortSignal,
): Promise<PostedComment> {
  return writeShorter(body, async (shown) => {
    const text = commentBody(shown, key);
    if (place.kind === "discussion") return postDiscussionComment(client, place, text, signal);
    const { post, parameters, more } = routesOf(place);
    const { data } = await client.write(`POST ${post}`, { ...parameters, ...more, body: text }, shapes.comment, signal);
    return postedCommentOf(client, place, data);
  });
}

/** The text replaces the whole comment, so the marker of `key` does too. */
export async function updateComment(
  client: Client,
  place: Place,
  { id }: PostedComment,
  { body, key }: { body: string; key: string },
  signal: AbortSignal,
): Promise<PostedComment> {
  return writeShorter(body, async (shown) => {
    const text = commentBody(shown, key);
    if (place.kind === "discussion") return updateDiscussionComment(client, id, text, signal);
    const parameters = { owner: place.owner, repo: place.repo, id, body: text };
    const { data } = await client.write(`PATCH ${routesOf(place).one}`, parameters, shapes.comment, signal);
    return postedCommentOf(client, place, data);
  });
}

/** The note comes first: after the text, an unclosed code fence would swallow it. */
export function commentBody(body: string, key: string): string {
  const whole = addMarker(sanitizeText(body), key);
  if (whole.length <= maxCommentLength) return whole;
  const note = `> **Cut off.** This text has ${body.length} characters, but a comment can have only ${maxCommentLength}. The end is missing.`;
  return truncate(addMarker(`${note}\n\n${sanitizeText(body)}`, key), maxCommentLength);
}

/** Finds the comment with the marker of `key`; newest page first. */
export async function findComment(client: Client, place: Place, key: string, signal: AbortSignal): Promise<PostedComment | null> {
  if (place.kind === "discussion") return (await findAllDiscussionComments(client, place, key, signal)).at(-1) ?? null;
  const { list, parameters } = routesOf(place);
  const load = (page: number) => client.read(`GET ${list}`, { ...parameters, per_page: 100, page }, shapes.comments, signal);
  const among = (page: z.output<typeof shapes.comments>) =>
    page.findLast((comment) => comment !== null && readMarker(comment.body) === key);
  const first = await load(1);
  let found = among(first.data);
  let forward = pageOf(first.link, "last") === null ? pageOf(first.link, "next") : null;
  for (let page = pageOf(first.link, "last") ?? 1; !found && page > 1; page--) found = among((await load(page)).data);
  // Some servers do not name the last page; then read all pages from the first one.
  while (!found && forward !== null && forward <= maxPages) {
    const next = await load(forward);
    found = among(next.data);
    forward = pageOf(next.link, "next");
  }
  return found ? postedCommentOf(client, place, found) : null;
}

export function postedCommentOf(client: Client, place: RestPlace, comment: z.output<typeof shapes.comment>): PostedComment {
  const id = String(comment.id);
  const { owner, repo } = place;
  return { id, url: comment.html_url ?? client.addressOf(routesOf(place).one, { owner, repo, id }) };
}
