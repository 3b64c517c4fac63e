import { createHash } from "node:crypto";
import {
  hasInvisibleMarker,
  ifCode,
  invisibleMarker,
  PluginError,
  type PostedComment,
  sanitizeText,
  stripInvisibleMarker,
  writeShorter,
} from "@signalbox/sdk";
import { z } from "zod";
import type { Client } from "./client.ts";
import * as shapes from "./shapes.ts";

export interface Account {
  readonly client: Client;
  readonly signal: AbortSignal;
}
/** Pages of 100 that are searched for a comment that was edited. */
const maxPages = 20;

/**
 * Linear lets the client choose the id of what it creates, so one key cannot create two objects: the id is derived from the
 * key, as a UUID of version 4.
 */
export function idOf(key: string): string {
  const bytes = createHash("sha256").update(`signalbox:${key}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Linear shows HTML comments as text, so the marker is invisible characters. */
const withKeyMarker = (body: string, key: string): string => invisibleMarker(key) + stripInvisibleMarker(sanitizeText(body));

interface Answer {
  readonly issue: string;
  readonly body: string;
  readonly key: string;
  /** Id of the first comment of a thread. */
  readonly thread?: string | null | undefined;
}

/** Posts in the thread, or on the issue itself if the thread was deleted in the meantime. */
export const postComment = (account: Account, answer: Answer): Promise<PostedComment> =>
  writeShorter(answer.body, (body) => postOnce(account, { ...answer, body }));

async function postOnce(account: Account, { issue, body, key, thread }: Answer): Promise<PostedComment> {
  const { client, signal } = account;
  const input = { id: idOf(key), issueId: issue, body: withKeyMarker(body, key), ...(thread && { parentId: thread }) };
  const document = `mutation AddComment($input: CommentCreateInput!) {
    commentCreate(input: $input) { success comment { ${shapes.commentFields} } }
  }`;
  const data = z.object({ commentCreate: shapes.done.extend({ comment: shapes.comment }) });
  try {
    return postedCommentOf((await client.mutate({ document, variables: { input }, data }, signal)).commentCreate.comment);
  } catch (error) {
    if (!(error instanceof PluginError) || !["conflict", "invalid_input", "not_found"].includes(error.code)) throw error;
    // The id is taken: an earlier request with this key succeeded.
    const existing = await commentById(account, idOf(key));
    if (existing) return postedCommentOf(existing);
    if (!thread) throw error;
    return postOnce(account, { issue, body, key });
  }
}

/** Replaces the text of a comment; the marker is then that of `key`. */
export async function updateComment(
  { client, signal }: Account,
  { id }: PostedComment,
  { body, key }: Pick<Answer, "body" | "key">,
): Promise<PostedComment> {
  const document = `mutation EditComment($id: String!, $input: CommentUpdateInput!) {
    commentUpdate(id: $id, input: $input) { success comment { ${shapes.commentFields} } }
  }`;
  const data = z.object({ commentUpdate: shapes.done.extend({ comment: shapes.comment }) });
  return writeShorter(body, async (shown) => {
    const variables = { id, input: { body: withKeyMarker(shown, key) } };
    return postedCommentOf((await client.mutate({ document, variables, data }, signal)).commentUpdate.comment);
  });
}

/** The comment that was posted with `key`, or edited with it. */
export async function findComment(account: Account, issue: string, key: string): Promise<PostedComment | null> {
  const posted = await commentById(account, idOf(key));
  if (posted) return postedCommentOf(posted);
  for await (const page of commentPages(account, issue, shapes.foundComments)) {
    const edited = page.find(({ body }) => hasInvisibleMarker(body, key));
    if (edited) return postedCommentOf(edited);
  }
  return null;
}

/** Succeeds where the comment no longer exists. */
export async function deleteComment({ client, signal }: Account, id: string): Promise<void> {
  const document = "mutation RemoveComment($id: String!) { commentDelete(id: $id) { success } }";
  const data = z.object({ commentDelete: shapes.done });
  await client.mutate({ document, variables: { id }, data }, signal).catch(ifCode("not_found", null));
}

/** Uses a filter, because a look-up by id answers with an error if there is no comment. */
async function commentById({ client, signal }: Account, id: string): Promise<shapes.Comment | null> {
  const document = `query CommentById($id: ID!) {
    comments(first: 1, filter: { id: { eq: $id } }) { nodes { ${shapes.commentFields} } }
  }`;
  const data = z.object({ comments: shapes.comments });
  return (await client.query({ document, variables: { id }, data }, signal)).comments.nodes[0] ?? null;
}

/** The comments of an issue, newest first, in pages. */
async function* commentPages(
  { client, signal }: Account,
  issue: string,
  comments: typeof shapes.shownComments,
): AsyncGenerator<readonly shapes.Comment[]> {
  const document = `query CommentsOfIssue($issue: String!, $before: String) {
    issue(id: $issue) {
      comments(last: 100, before: $before) {
        nodes { ${shapes.commentFields} } pageInfo { hasPreviousPage startCursor }
      }
    }
  }`;
  const info = z.object({ hasPreviousPage: z.boolean(), startCursor: z.string().nullish() });
  const data = z.object({ issue: z.object({ comments: comments.extend({ pageInfo: info }) }) });
  let before: string | null = null;
  for (let count = 0; count < maxPages; count++) {
    const page: z.output<typeof data> = await client.query({ document, variables: { issue, before }, data }, signal);
    yield page.issue.comments.nodes.filter((one) => one !== null);
    const { hasPreviousPage, startCursor } = page.issue.comments.pageInfo;
    if (!hasPreviousPage || !startCursor) return;
    before = startCursor;
  }
}

/** The last comments of an issue, oldest first. */
export async function lastComments(account: Account, issue: string): Promise<readonly shapes.Comment[]> {
  for await (const page of commentPages(account, issue, shapes.shownComments))
    return page.toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
  return [];
}

const postedCommentOf = ({ id, url }: shapes.Comment): PostedComment => ({ id, url });
