import {
  addMarker,
  type CallContext,
  type HttpClient,
  httpClient,
  PluginError,
  type PostedComment,
  readMarker,
} from "@signalbox/sdk";
import { z } from "zod";
import type { Settings } from "./settings.ts";

export type ClientOf = (connection: Settings) => HttpClient;
export type GiteaCall = Pick<CallContext<Settings>, "connection" | "signal" | "key">;

const comment = z.object({ id: z.int(), body: z.string(), html_url: z.string() });
const issue = z.object({
  number: z.int(),
  title: z.string(),
  body: z.string().nullable(),
  state: z.string(),
  html_url: z.string(),
  user: z.object({ login: z.string() }).nullable(),
  labels: z.array(z.object({ name: z.string() })).nullable(),
});
const comments = "/repos/{owner}/{repo}/issues/{issue}/comments";

/** One client per account, so that a wait that the server asks for applies to all calls. */
export function clients(fetch: typeof globalThis.fetch): ClientOf {
  const kept = new Map<string, HttpClient>();
  return ({ url, token, webhook_secret }) => {
    // All that the client depends on: with another secret, another text is taken out of its errors.
    const key = JSON.stringify([url, token, webhook_secret]);
    const client =
      kept.get(key) ??
      httpClient({
        platform: "gitea",
        base: `${url.replace(/\/+$/, "")}/api/v1`,
        headers: token === undefined ? {} : { authorization: `token ${token}` },
        fetch,
        secrets: [token, webhook_secret].filter((secret) => secret !== undefined),
      });
    // Bounded, because tokens are rotated and a long-lived process would otherwise keep every old one.
    if (kept.size >= 100) kept.clear();
    kept.set(key, client);
    return client;
  };
}

/** Checks `owner/repo` and the number of an issue and makes them parts of a path. Throws `invalid_input`. */
export function placeOf(project: string, number: string | number): { owner: string; repo: string; issue: string } {
  const [owner, repo, more] = project.split("/");
  if (!owner || !repo || more !== undefined)
    throw new PluginError("invalid_input", `project: must be owner/repo; it is ${JSON.stringify(project)}`);
  if (!/^[1-9]\d{0,9}$/.test(String(number)))
    throw new PluginError("invalid_input", `issue: must be a number; it is ${JSON.stringify(number)}`);
  return { owner, repo, issue: String(number) };
}
export type Place = ReturnType<typeof placeOf>;

export async function login(client: ClientOf, { connection, signal }: GiteaCall): Promise<string> {
  const shape = z.object({ login: z.string() });
  return (await client(connection).read({ route: "GET /user", schema: shape, signal })).data.login;
}

export async function postComment(client: ClientOf, path: Place, body: string, call: GiteaCall): Promise<PostedComment> {
  const { connection, signal, key } = call;
  const sent = { body: addMarker(body, key) };
  const { data } = await client(connection).write({ route: `POST ${comments}`, path, body: sent, schema: comment, signal });
  return { id: String(data.id), url: data.html_url };
}

export async function updateComment(
  client: ClientOf,
  path: Place & { readonly id: string },
  body: string,
  { connection, signal, key }: GiteaCall,
): Promise<PostedComment> {
  const route = "PATCH /repos/{owner}/{repo}/issues/comments/{id}";
  const { data } = await client(connection).write({ route, path, body: { body: addMarker(body, key) }, schema: comment, signal });
  return { id: String(data.id), url: data.html_url };
}

/** The API returns all comments of an issue at once. */
export async function findComment(
  client: ClientOf,
  path: Place,
  { connection, signal, key }: GiteaCall,
): Promise<PostedComment | null> {
  const { data } = await client(connection).read({ route: `GET ${comments}`, path, schema: z.array(comment), signal });
  const found = data.find(({ body }) => readMarker(body) === key);
  return found ? { id: String(found.id), url: found.html_url } : null;
}

export async function readIssue(client: ClientOf, path: Place, { connection, signal }: GiteaCall) {
  const route = "GET /repos/{owner}/{repo}/issues/{issue}";
  return (await client(connection).read({ route, path, schema: issue, signal })).data;
}
