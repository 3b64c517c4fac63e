import { createHash } from "node:crypto";
import {
  type Capabilities,
  checkHeaders,
  encodeForUrl,
  fetchError,
  PluginError,
  parseAnswer,
  redirectError,
  rememberLatest,
  Throttle,
  throttled,
} from "@signalbox/sdk";
import type { z } from "zod";
import { dataOf, failureOf } from "./failure.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

/**
 * The public platform asks for a second between writes, and three between comments, because each notifies people.
 * Milliseconds.
 */
const publicInterval = 1_000;
const commentInterval = 3_000;

export type Parameters = Readonly<Record<string, string | number | boolean | null | object>>;
interface Answer<T> {
  readonly data: T;
  /** The `Link` header, `""` without one. */
  readonly link: string;
  readonly headers: Headers;
}
type Request = <T>(route: string, parameters: Parameters, shape: z.ZodType<T>, signal: AbortSignal) => Promise<Answer<T>>;

/** Requests in the name of one account. Both throw a `PluginError`, and `timeout` as soon as the signal is aborted. */
export interface Client {
  /** Repeated on 5xx and lost connections. */
  readonly read: Request;
  /** Never repeated unless it was refused by a rate limit: a write whose answer is lost may have been carried out. */
  readonly write: Request;
  /**
   * The GraphQL API, for what the REST API does not have. Throws `unsupported` if the server has no GraphQL API or the token may not
   * use it.
   */
  readonly graphql: (effect: "read" | "write", query: string, variables: Parameters, signal: AbortSignal) => Promise<unknown>;
  /** Address of a resource in the API, for example of an answer that names no address on the website. */
  readonly addressOf: (route: string, parameters: Parameters) => string;
}

type ClientCapabilities = Pick<Capabilities, "fetch" | "log" | "throttle">;

/** One client per account, so that all calls share its throttle. */
export function clients(capabilities: ClientCapabilities): (connection: Settings) => Client {
  const clientOfAccount = rememberLatest<Client>(200);
  return (connection) => {
    const key = JSON.stringify([connection.api_url, connection.token]);
    return clientOfAccount(key, () => clientFor(connection, capabilities));
  };
}

/** What the requests of a client have in common. */
interface Account extends Pick<ClientCapabilities, "fetch" | "log"> {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Values to redact in error messages. */
  readonly secrets: readonly string[];
}

function clientFor({ api_url, token, webhook_secret }: Settings, { fetch, log, throttle }: ClientCapabilities): Client {
  const account: Account = {
    base: api_url.replace(/\/+$/, ""),
    headers: {
      accept: "application/vnd.github.v3+json",
      "user-agent": "signalbox",
      ...(token !== undefined && { authorization: authorizationOf(token) }),
    },
    secrets: [token, webhook_secret].filter((secret) => secret !== undefined),
    fetch,
    log,
  };
  const key = `alpha:${createHash("sha256").update(`${api_url} ${token}`).digest("hex").slice(0, 32)}`;
  const limited = isPublic(api_url);
  const reads = new Throttle({ interval: 0, slots: 16 });
  const writes = new Throttle({ interval: limited ? publicInterval : 0, shared: throttle, key });
  const through =
    (own: Throttle, isRetryable: (error: PluginError) => boolean): Request =>
    async (route, parameters, shape, signal) => {
      const call = callOf(account.base, route, parameters);
      const isComment = limited && own === writes && /\/(comments|replies|graphql)$/.test(route);
      const turn = { throttle: own, platform: "alpha", request: call.requestLine, signal, isRetryable };
      return throttled({ ...turn, ...(isComment && { interval: commentInterval }) }, () => send(account, call, shape, signal));
    };
  const read = through(reads, ({ code }) => code === "unavailable");
  const write = through(writes, () => false);
  const addressOf = (path: string, parameters: Parameters) => callOf(account.base, `GET ${path}`, parameters).url;
  return { read, write, graphql: graphqlBy(api_url, { read, write }), addressOf };
}

/** An app's own token is a JWT. */
const authorizationOf = (token: string): string => `${token.split(".").length === 3 ? "bearer" : "token"} ${token}`;

/** A self-hosted server has the GraphQL API next to the REST API: `/api/graphql` and `/api/v3`. */
function graphqlBy(api_url: string, { read, write }: Pick<Client, "read" | "write">): Client["graphql"] {
  const route = `POST ${api_url.replace(/\/+$/, "").replace(/\/v3$/, "")}/graphql`;
  return async (effect, query, variables, signal) => {
    const request = effect === "read" ? read : write;
    try {
      return dataOf((await request(route, { query, variables }, shapes.anyObject, signal)).data);
    } catch (error) {
      if (!(error instanceof PluginError) || error.code !== "not_found" || !error.message.includes("answered 404")) throw error;
      throw new PluginError("unsupported", "the server of alpha has no GraphQL API; discussions need it");
    }
  };
}

/** Self-hosted servers have no limits unless their administrator sets them; they then answer 403 or 429. */
function isPublic(api_url: string): boolean {
  const { hostname } = new URL(api_url);
  return hostname === "api.github.com" || hostname.endsWith(".ghe.com");
}

interface Call {
  readonly method: string;
  readonly url: string;
  readonly body: string | undefined;
  /** Method and path, for error messages. */
  readonly requestLine: string;
}

const encodeParameter = (name: string, value: unknown): string => encodeForUrl("alpha", name, String(value));

/** Each `{name}` in the route is replaced with the encoded parameter. The others are the query of a `GET`, or else the body. */
function callOf(base: string, route: string, parameters: Parameters): Call {
  const requestLine = route.replace(/\{(\w+)\}/g, (_, name: string) => encodeParameter(name, parameters[name]));
  const [method = "", path = ""] = requestLine.split(" ");
  const url = path.startsWith("/") ? base + path : path;
  const others = Object.entries(parameters).filter(([name, value]) => value !== undefined && !route.includes(`{${name}}`));
  if (others.length === 0) return { method, url, body: undefined, requestLine };
  if (method !== "GET") return { method, url, body: JSON.stringify(Object.fromEntries(others)), requestLine };
  const query = others.map(([name, value]) => `${name}=${encodeParameter(name, value)}`).join("&");
  return { method, url: `${url}?${query}`, body: undefined, requestLine };
}

async function send<T>(
  { base, fetch, headers, log, secrets }: Account,
  { method, url, body, requestLine }: Call,
  shape: z.ZodType<T>,
  signal: AbortSignal,
): Promise<Answer<T>> {
  checkHeaders("alpha", headers);
  let response: Response;
  let text: string;
  try {
    const content = body === undefined ? {} : { body };
    const type = body === undefined ? {} : { "content-type": "application/json; charset=utf-8" };
    response = await fetch(url, { method, headers: { ...headers, ...type }, signal, ...content });
    // The status counts, even if the body breaks off.
    text = await response.text().catch(() => {
      signal.throwIfAborted();
      return "";
    });
  } catch (error) {
    if (signal.aborted) throw new PluginError("timeout", `alpha did not answer ${requestLine} before the deadline`);
    throw fetchError("alpha", requestLine, error, secrets);
  }
  const answered = response.headers;
  if (!response.ok) {
    const { status } = response;
    const redirected = redirectError("alpha", requestLine, response, base);
    throw redirected ?? failureOf({ requestLine, status, headers: answered, text }, secrets);
  }
  if (answered.has("deprecation"))
    log(`warning: alpha will remove ${requestLine}${answered.has("sunset") ? ` on ${answered.get("sunset")}` : ""}`);
  return {
    data: readAnswer(shape, parseJson(text, requestLine), requestLine),
    link: answered.get("link") ?? "",
    headers: answered,
  };
}

/** The text remains if the body was cut off or is not JSON, for example the error page of a proxy. */
function parseJson(text: string, requestLine: string): unknown {
  try {
    return parseAnswer(text);
  } catch (error) {
    if (error instanceof PluginError)
      throw new PluginError("unavailable", `alpha's answer to ${requestLine} cannot be read: ${error.message}`);
    return text;
  }
}

function readAnswer<T>(shape: z.ZodType<T>, data: unknown, requestLine: string): T {
  const parsed = shape.safeParse(data);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: "" };
  const what = typeof data === "object" && data !== null ? `${path.join(".") || "body"}: ${message}` : "not JSON, or cut off";
  throw new PluginError("unavailable", `alpha's answer to ${requestLine} cannot be read: ${what}`);
}
