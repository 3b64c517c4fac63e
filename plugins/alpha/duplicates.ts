import { PluginError, type PostedComment, readMarker } from "@signalbox/sdk";
import type { Address } from "./address.ts";
import type { Client } from "./client.ts";
import { maxPages, postedOf, route } from "./comments.ts";
import { pageOf } from "./paging.ts";
import * as shapes from "./shapes.ts";

/** Every comment that carries `key`, oldest first. */
export async function findAllComments(
  client: Client,
  address: Address,
  key: string,
  signal: AbortSignal,
): Promise<PostedComment[]> {
  const found: PostedComment[] = [];
  for (let page: number | null = 1; page !== null && page <= maxPages; ) {
    const { data, link } = await client.read(`GET ${route}`, { ...address, per_page: 100, page }, shapes.comments, signal);
    found.push(...data.filter((comment) => readMarker(comment.body) === key).map(postedOf));
    page = pageOf(link, "next");
  }
  return found;
}

export async function deleteComment(client: Client, { owner, repo }: Address, id: string, signal: AbortSignal): Promise<void> {
  try {
    const path = "DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}";
    await client.write(path, { owner, repo, comment_id: id }, shapes.nothing, signal);
  } catch (error) {
    if (!(error instanceof PluginError) || error.code !== "not_found") throw error;
  }
}
