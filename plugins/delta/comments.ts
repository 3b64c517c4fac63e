import { PluginError, type PostedComment, writeShorter } from "@signalbox/sdk";
import { type Address, anyProject } from "./address.ts";
import { markedHtml } from "./bodies.ts";
import type { Account } from "./client.ts";
import { projectOf } from "./projects.ts";
import { webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";
import { externalSource } from "./shapes.ts";

export const route = "/workspaces/{slug}/projects/{project}/issues/{issue}/comments/";
export const maxPages = 100;

/** `private`: only members of the project can read it, not the visitors of its public board. */
interface Answer {
  readonly body: string;
  readonly private?: boolean | undefined;
}

export async function postComment(account: Account, address: Address, post: Answer, key: string): Promise<PostedComment> {
  const { client, convert, signal } = account;
  const path = { slug: client.slug, project: await projectOf(account, address), issue: address.issue };
  const access = post.private ? { access: "INTERNAL" } : {};
  try {
    return await writeShorter(post.body, async (shown) => {
      const html = await markedHtml(convert, shown, key);
      const sent = { comment_html: html, external_source: externalSource, external_id: key, ...access };
      const { data } = await client.write({ route: `POST ${route}`, path, body: sent, schema: shapes.comment, signal });
      return postedCommentOf(account, path, data.id);
    });
  } catch (error) {
    // External ids are unique: a second comment with one id is a conflict, and the first one is the result.
    const existing =
      error instanceof PluginError &&
      error.code === "conflict" &&
      (await findComment(account, { ...address, project: path.project }, key));
    if (!existing) throw error;
    return existing;
  }
}

/** Replaces the text and the external id of a comment. */
export async function updateComment(
  account: Account,
  address: Address,
  { id }: PostedComment,
  { body, key }: { body: string; key: string },
): Promise<PostedComment> {
  const { client, convert, signal } = account;
  const path = { slug: client.slug, project: await projectOf(account, address), issue: address.issue, id };
  return writeShorter(body, async (shown) => {
    const sent = { comment_html: await markedHtml(convert, shown, key), external_source: externalSource, external_id: key };
    const { data } = await client.write({ route: `PATCH ${route}{id}/`, path, body: sent, schema: shapes.comment, signal });
    return postedCommentOf(account, path, data.id);
  });
}

/** Finds the comment with `key` as its external id. */
export async function findComment(account: Account, address: Address, key: string): Promise<PostedComment | null> {
  const { client, signal } = account;
  const path = { slug: client.slug, project: await projectOf(account, address), issue: address.issue };
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const query = { per_page: 100, cursor };
    const { data } = await client.read({ route: `GET ${route}`, path, query, schema: shapes.lists.comments, signal });
    const comment = data.results.find((one) => one?.external_source === externalSource && one.external_id === key);
    if (comment) return postedCommentOf(account, path, comment.id);
    if (!data.next_page_results || !data.next_cursor) return null;
    cursor = data.next_cursor;
  }
  return null;
}

export const postedCommentOf = (
  { client, connection }: Account,
  { project, issue }: { project: string; issue: string },
  id: string,
): PostedComment => ({
  id,
  url: `${webUrlOf(connection)}/${client.slug}/projects/${project || anyProject}/issues/${issue}#comment-${id}`,
});
