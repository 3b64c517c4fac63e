import { ifCode, type PostedComment, readMarker } from "@signalbox/sdk";
import type { Client } from "./client.ts";
import { maxPages, postedCommentOf, routesOf } from "./comments.ts";
import { deleteDiscussionComment, findAllDiscussionComments } from "./discussions.ts";
import { pageOf } from "./paging.ts";
import type { Place } from "./place.ts";
import * as shapes from "./shapes.ts";

/** Every comment that carries `key`, oldest first. */
export async function findAllComments(client: Client, place: Place, key: string, signal: AbortSignal): Promise<PostedComment[]> {
  if (place.kind === "discussion") return findAllDiscussionComments(client, place, key, signal);
  const { list, parameters } = routesOf(place);
  const comments: PostedComment[] = [];
  for (let page: number | null = 1; page !== null && page <= maxPages; ) {
    const { data, link } = await client.read(`GET ${list}`, { ...parameters, per_page: 100, page }, shapes.comments, signal);
    comments.push(
      ...data
        .filter((comment) => comment !== null)
        .filter((comment) => readMarker(comment.body) === key)
        .map((one) => postedCommentOf(client, place, one)),
    );
    page = pageOf(link, "next");
  }
  return comments;
}

export async function deleteComment(client: Client, place: Place, id: string, signal: AbortSignal): Promise<void> {
  const remove = () => {
    if (place.kind === "discussion") return deleteDiscussionComment(client, id, signal);
    const { owner, repo } = place;
    return client.write(`DELETE ${routesOf(place).one}`, { owner, repo, id }, shapes.ignoredBody, signal);
  };
  await remove().catch(ifCode("not_found", null));
}
