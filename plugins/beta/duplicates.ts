import { PluginError, type PostedComment, readMarker } from "@signalbox/sdk";
import type { Address } from "./address.ts";
import { type Account, maxPages, postedOf, route } from "./comments.ts";
import * as shapes from "./shapes.ts";

/** Every note that carries `key`, oldest first. */
export async function findAllComments(account: Account, address: Address, key: string): Promise<PostedComment[]> {
  const { client, connection, signal } = account;
  const found: PostedComment[] = [];
  for (let page = 1; page <= maxPages; page++) {
    const query = { per_page: 100, page, sort: "asc", order_by: "created_at" };
    const { data } = await client.read({ route: `GET ${route}`, path: { ...address }, query, schema: shapes.notes, signal });
    found.push(...data.filter((note) => readMarker(note.body) === key).map(({ id }) => postedOf(connection, address, id)));
    if (data.length < 100) break;
  }
  return found;
}

export async function deleteComment({ client, signal }: Account, address: Address, note: string): Promise<void> {
  try {
    await client.write({ route: `DELETE ${route}/{note}`, path: { ...address, note }, schema: shapes.nothing, signal });
  } catch (error) {
    if (!(error instanceof PluginError) || error.code !== "not_found") throw error;
  }
}
