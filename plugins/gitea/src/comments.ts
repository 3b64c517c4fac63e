import {
  type AccountReport,
  addMarker,
  type CallContext,
  ifCode,
  isUnmarked,
  itemOrNull,
  type PostedComment,
  rateLimitOf,
  readMarker,
  sanitizeText,
  writeShorter,
} from "@signalbox/sdk";
import { z } from "zod";
import type { Place } from "./address.ts";
import type { ClientOf } from "./client.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

export type GiteaCall = Pick<CallContext<Settings>, "connection" | "signal" | "key">;

const comments = "/repos/{owner}/{repo}/issues/{issue}/comments";
const single = "/repos/{owner}/{repo}/issues/comments/{id}";

export async function login(client: ClientOf, { connection, signal }: GiteaCall): Promise<string> {
  return (await client(connection).read({ route: "GET /user", schema: shapes.user, signal })).data.login;
}

/**
 * Reads the account, which needs a valid token. The server has no limit of its own, but a proxy in front of it may report one, and
 * a token does not learn its scopes. Throws a `PluginError`.
 */
export async function check(client: ClientOf, { connection, signal }: GiteaCall): Promise<AccountReport> {
  const { headers } = await client(connection).read({ route: "GET /user", schema: shapes.user, signal });
  return { may_write: null, rate_limit: rateLimitOf(headers) };
}

export async function postComment(client: ClientOf, path: Place, body: string, call: GiteaCall): Promise<PostedComment> {
  const { connection, signal, key } = call;
  return writeShorter(body, async (shown) => {
    const sent = { body: addMarker(sanitizeText(shown), key) };
    const request = { route: `POST ${comments}`, path: { ...path }, body: sent, schema: shapes.comment, signal };
    return postedCommentOf((await client(connection).write(request)).data);
  });
}

export async function updateComment(
  client: ClientOf,
  { owner, repo, id }: Place & { readonly id: string },
  body: string,
  { connection, signal, key }: GiteaCall,
): Promise<PostedComment> {
  return writeShorter(body, async (shown) => {
    const sent = { body: addMarker(sanitizeText(shown), key) };
    const request = { route: `PATCH ${single}`, path: { owner, repo, id }, body: sent, schema: shapes.comment, signal };
    return postedCommentOf((await client(connection).write(request)).data);
  });
}

/** Succeeds where the comment no longer exists. */
export async function deleteComment(
  client: ClientOf,
  { owner, repo, id }: Place & { readonly id: string },
  { connection, signal }: GiteaCall,
): Promise<void> {
  const request = { route: `DELETE ${single}`, path: { owner, repo, id }, schema: shapes.ignoredBody, signal };
  await client(connection).write(request).catch(ifCode("not_found", null));
}

/** The comments that carry the key of the call, oldest first. The API returns all comments of an issue at once. */
export async function findComments(client: ClientOf, path: Place, call: GiteaCall): Promise<PostedComment[]> {
  const all = await listComments(client, path, call, foundComments);
  const own = all.filter(({ body }) => readMarker(body) === call.key);
  return own.toSorted((a, b) => a.id - b.id).map(postedCommentOf);
}

/** All comments that can be read. */
export const readComments = (client: ClientOf, path: Place, call: GiteaCall): Promise<shapes.Comment[]> =>
  listComments(client, path, call, shownComments);

const shownComments = z.array(itemOrNull(shapes.comment));
/** Those among which one of ours is looked for. A malformed one that may be ours fails the list. */
const foundComments = z.array(itemOrNull(shapes.comment, isUnmarked));

async function listComments(
  client: ClientOf,
  path: Place,
  { connection, signal }: GiteaCall,
  schema: typeof shownComments,
): Promise<shapes.Comment[]> {
  const { data } = await client(connection).read({ route: `GET ${comments}`, path: { ...path }, schema, signal });
  return data.filter((one) => one !== null);
}

const postedCommentOf = ({ id, html_url }: shapes.Comment): PostedComment => ({ id: String(id), url: html_url });
