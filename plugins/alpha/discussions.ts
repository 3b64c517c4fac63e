import { isUnmarked, itemOrNull, PluginError, type PostedComment, readMarker, valueAt } from "@signalbox/sdk";
import { z } from "zod";
import type { Client } from "./client.ts";
import type { Place } from "./place.ts";

/** Discussions are read and written by the GraphQL API only. */
type Discussion = Extract<Place, { kind: "discussion" }>;

const commentShape = z.object({ id: z.string(), url: z.string() });
const page = z.object({
  nodes: z.array(itemOrNull(commentShape.extend({ body: z.string() }), isUnmarked)),
  pageInfo: z.object({ hasPreviousPage: z.boolean(), startCursor: z.string().nullish() }),
});
/** Maximum number of pages of 100 comments, newest first, in which to look for one of ours. */
const maxPages = 50;

const fields = "nodes { id url body } pageInfo { hasPreviousPage startCursor }";
const postQuery = `mutation ($discussion: ID!, $reply_to: ID, $body: String!) {
  addDiscussionComment(input: { discussionId: $discussion, replyToId: $reply_to, body: $body }) { comment { id url } } }`;
const listQuery = `query ($id: ID!, $before: String) { node(id: $id) {
  ... on Discussion { comments(last: 100, before: $before) { ${fields} } }
  ... on DiscussionComment { comments: replies(last: 100, before: $before) { ${fields} } } } }`;
const updateQuery = `mutation ($id: ID!, $body: String!) {
  updateDiscussionComment(input: { commentId: $id, body: $body }) { comment { id url } } }`;
const deleteQuery = "mutation ($id: ID!) { deleteDiscussionComment(input: { id: $id }) { clientMutationId } }";

export async function postDiscussionComment(
  client: Client,
  { discussion, reply_to }: Discussion,
  body: string,
  signal: AbortSignal,
): Promise<PostedComment> {
  const answer = await client.graphql("write", postQuery, { discussion, reply_to, body }, signal);
  return readAnswer(commentShape, valueAt(answer, "addDiscussionComment", "comment"));
}

/** Comments, or replies of one comment, that carry `key`, oldest first. */
export async function findAllDiscussionComments(
  client: Client,
  { discussion, reply_to }: Discussion,
  key: string,
  signal: AbortSignal,
): Promise<PostedComment[]> {
  const found: PostedComment[] = [];
  let before: string | null = null;
  for (let count = 0; count < maxPages; count++) {
    const answer = await client.graphql("read", listQuery, { id: reply_to ?? discussion, before }, signal);
    const { nodes, pageInfo } = readAnswer(page, valueAt(answer, "node", "comments"));
    const own = nodes.filter((node) => node !== null).filter(({ body }) => readMarker(body) === key);
    found.unshift(...own.map(({ id, url }) => ({ id, url })));
    if (!pageInfo.hasPreviousPage || !pageInfo.startCursor) break;
    before = pageInfo.startCursor;
  }
  return found;
}

export async function updateDiscussionComment(
  client: Client,
  id: string,
  body: string,
  signal: AbortSignal,
): Promise<PostedComment> {
  const answer = await client.graphql("write", updateQuery, { id, body }, signal);
  return readAnswer(commentShape, valueAt(answer, "updateDiscussionComment", "comment"));
}

export async function deleteDiscussionComment(client: Client, id: string, signal: AbortSignal): Promise<void> {
  await client.graphql("write", deleteQuery, { id }, signal);
}

function readAnswer<T>(shape: z.ZodType<T>, data: unknown): T {
  const parsed = shape.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new PluginError("unavailable", "alpha's answer about a discussion cannot be read");
}
