import { ifCode, type PostedComment } from "@signalbox/sdk";
import { type Account, hasKey, maxPages, postedCommentOf, route } from "./comments.ts";
import * as shapes from "./shapes.ts";

/** Every comment that carries `key`, oldest first. */
export async function findAllComments(account: Account, issue: string, key: string): Promise<PostedComment[]> {
  const { client, connection, signal } = account;
  const comments: PostedComment[] = [];
  for (let page = 0; page < maxPages; page++) {
    const query = { startAt: page * 100, maxResults: 100, orderBy: "created", expand: "properties" };
    const { data } = await client.read({ route: `GET ${route}`, path: { issue }, query, schema: shapes.comments, signal });
    comments.push(
      ...data.comments
        .filter((one) => one !== null)
        .filter((one) => hasKey(one, key))
        .map(({ id }) => postedCommentOf(connection, issue, id)),
    );
    if (data.startAt + data.comments.length >= data.total || data.comments.length === 0) break;
  }
  return comments;
}

export async function deleteComment({ client, signal }: Account, issue: string, id: string): Promise<void> {
  const request = { route: `DELETE ${route}/{id}`, path: { issue, id }, schema: shapes.ignoredBody, signal };
  await client.write(request).catch(ifCode("not_found", null));
}
