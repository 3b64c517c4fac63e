import { ifCode, type PostedComment } from "@signalbox/sdk";
import type { Address } from "./address.ts";
import type { Account } from "./client.ts";
import { maxPages, postedCommentOf, route } from "./comments.ts";
import { projectOf } from "./projects.ts";
import * as shapes from "./shapes.ts";
import { externalSource } from "./shapes.ts";

/** All comments with `key`, oldest first. The platform refuses a second one, unless both arrive at the same moment. */
export async function findAllComments(account: Account, address: Address, key: string): Promise<PostedComment[]> {
  const { client, signal } = account;
  const path = { slug: client.slug, project: await projectOf(account, address), issue: address.issue };
  const found: { id: string; created_at?: string | null | undefined }[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const query = { per_page: 100, cursor };
    const { data } = await client.read({ route: `GET ${route}`, path, query, schema: shapes.lists.comments, signal });
    const comments = data.results.filter((one) => one !== null);
    found.push(...comments.filter((one) => one.external_source === externalSource && one.external_id === key));
    if (!data.next_page_results || !data.next_cursor) break;
    cursor = data.next_cursor;
  }
  const timeOf = ({ created_at }: (typeof found)[number]) => Date.parse(created_at ?? "") || 0;
  return found.toSorted((a, b) => timeOf(a) - timeOf(b)).map(({ id }) => postedCommentOf(account, path, id));
}

export async function deleteComment(account: Account, address: Address, id: string): Promise<void> {
  const { client, signal } = account;
  const path = { slug: client.slug, project: await projectOf(account, address), issue: address.issue, id };
  const request = { route: `DELETE ${route}{id}/`, path, schema: shapes.ignoredBody, signal };
  await client.write(request).catch(ifCode("not_found", null));
}
