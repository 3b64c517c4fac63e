import { PluginError, type Posted } from "@signalbox/sdk";
import { type Address, anyProject } from "./address.ts";
import type { Client } from "./client.ts";
import { markedHtml } from "./html.ts";
import { projectOf } from "./projects.ts";
import { type Settings, webOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

export type Account = { readonly client: Client; readonly connection: Settings; readonly signal: AbortSignal };

/** Where the platform keeps what a comment stands for elsewhere: our key, and that it is ours. */
export const externalSource = "signalbox";
const route = "/workspaces/{slug}/projects/{project}/issues/{issue}/comments/";
const mostPages = 100;

export async function postComment(account: Account, address: Address, body: string, key: string): Promise<Posted> {
  const { client, signal } = account;
  const path = { slug: client.slug, project: await projectOf(account, address), issue: address.issue };
  const sent = { comment_html: markedHtml(body, key), external_source: externalSource, external_id: key };
  try {
    const { data } = await client.write({ route: `POST ${route}`, path, body: sent, shape: shapes.comment, signal });
    return posted(account, path, data.id);
  } catch (error) {
    // The platform knows external ids: a second comment of one id is a conflict, and the first is what was wanted.
    const there =
      error instanceof PluginError &&
      error.code === "conflict" &&
      (await findComment(account, { ...address, project: path.project }, key));
    if (!there) throw error;
    return there;
  }
}

/** The comment that carries `key`. */
export async function findComment(account: Account, address: Address, key: string): Promise<Posted | null> {
  const { client, signal } = account;
  const path = { slug: client.slug, project: await projectOf(account, address), issue: address.issue };
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const query = { per_page: 100, cursor };
    const { data } = await client.read({ route: `GET ${route}`, path, query, shape: shapes.listOf(shapes.comment), signal });
    const found = data.results.find((one) => one.external_source === externalSource && one.external_id === key);
    if (found) return posted(account, path, found.id);
    if (!data.next_page_results || !data.next_cursor) return null;
    cursor = data.next_cursor;
  }
  return null;
}

const posted = ({ client, connection }: Account, { project, issue }: { project: string; issue: string }, id: string): Posted => ({
  id,
  url: `${webOf(connection)}/${client.slug}/projects/${project || anyProject}/issues/${issue}#comment-${id}`,
});
