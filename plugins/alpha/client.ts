import { createHash } from "node:crypto";
import { Octokit } from "@octokit/core";
import { retry } from "@octokit/plugin-retry";
import { type Capabilities, PluginError, parseAnswer, Throttle, throttled } from "@signalbox/sdk";
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
export interface Answer<T> {
  readonly data: T;
  /** The `Link` header, `""` without one. */
  readonly link: string;
  readonly headers: Readonly<Record<string, unknown>>;
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
}

const Reader = Octokit.plugin(retry);
type Given = Pick<Capabilities, "fetch" | "log" | "throttle">;

/** One client per account, so that all calls share its throttle. */
export function clients(capabilities: Given): (connection: Settings) => Client {
  const clientByKey = new Map<string, Client>();
  return (connection) => {
    const key = `${connection.api_url} ${connection.token ?? ""}`;
    let client = clientByKey.get(key);
    if (!client) {
      // Bounded, because tokens are rotated and a long-lived process would otherwise keep every old one.
      if (clientByKey.size >= 200) clientByKey.delete(clientByKey.keys().next().value as string);
      client = clientFor(connection, capabilities);
      clientByKey.set(key, client);
    }
    return client;
  };
}

function clientFor({ api_url, token, webhook_secret }: Settings, { fetch, log, throttle }: Given): Client {
  const options = {
    baseUrl: api_url.replace(/\/+$/, ""),
    userAgent: "signalbox",
    ...(token === undefined ? {} : { auth: token }),
    request: { fetch: asText(withoutRepetition(fetch)) },
    log: {
      debug: () => {},
      info: () => {},
      warn: (message: string) => log(`warning: ${message}`),
      error: () => {},
    },
    // The throttle waits after a 429: as long as the platform asks for, but not beyond the deadline.
    retry: { retries: 2, retryAfterBaseValue: 250, doNotRetry: [400, 401, 403, 404, 409, 410, 422, 429, 451] },
  };
  const secrets = [token, webhook_secret].filter((secret) => secret !== undefined);
  const key = `alpha:${createHash("sha256").update(`${api_url} ${token}`).digest("hex").slice(0, 32)}`;
  const limited = isPublic(api_url);
  const reads = new Throttle({ interval: 0, slots: 16 });
  const writes = new Throttle({ interval: limited ? publicInterval : 0, shared: throttle, key });
  const through =
    (octokit: Octokit, own: Throttle): Request =>
    (route, parameters, shape, signal) => {
      const requestLine = route.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name]));
      const isComment = limited && own === writes && /\/(comments|replies|graphql)$/.test(route);
      const turn = { throttle: own, platform: "alpha", request: requestLine, signal, isRetryable: () => false };
      return throttled({ ...turn, ...(isComment && { interval: commentInterval }) }, () =>
        send(secrets, requestLine, shape, signal, () => octokit.request(route, { ...parameters, request: { signal } })),
      );
    };
  const read = through(new Reader(options), reads);
  const write = through(new Octokit(options), writes);
  return { read, write, graphql: graphqlBy(api_url, { read, write }) };
}

/** A self-hosted server has the GraphQL API next to the REST API: `/api/graphql` and `/api/v3`. */
function graphqlBy(api_url: string, { read, write }: Pick<Client, "read" | "write">): Client["graphql"] {
  const route = `POST ${api_url.replace(/\/+$/, "").replace(/\/v3$/, "")}/graphql`;
  return async (effect, query, variables, signal) => {
    const request = effect === "read" ? read : write;
    try {
      return dataOf((await request(route, { query, variables }, shapes.anything, signal)).data);
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

/**
 * Octokit retries every failure except an `AbortError`. Retrying does not help if the deadline has passed or the host refuses
 * the request.
 */
function withoutRepetition(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      if (!init?.signal?.aborted && (error as Error)?.name !== "PluginError") throw error;
      throw Object.assign(new Error((error as Error)?.message, { cause: error }), { name: "AbortError" });
    }
  };
}

/** Longer error messages are not parsed, characters. */
const maxErrorLength = 65_536;

/**
 * Octokit calls a function for each value in a JSON answer, which takes ten times as long as to parse it. It gets the text, which
 * `send` parses; only errors it parses itself, for their message.
 */
function asText(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { status, url } = response;
    const headers = new Headers(response.headers);
    if (status < 400) {
      headers.set("content-type", "text/plain");
      return { status, url, headers, text: () => response.text() } as Response;
    }
    // The status counts, even if the body breaks off.
    const text = await response.text().catch(() => "");
    if (text.length > maxErrorLength) headers.set("content-type", "text/plain");
    return new Response(text.slice(0, maxErrorLength), { status, headers });
  };
}

async function send<T>(
  secrets: readonly string[],
  requestLine: string,
  shape: z.ZodType<T>,
  signal: AbortSignal,
  request: () => Promise<{ data: unknown; headers: { link?: string | undefined } }>,
): Promise<Answer<T>> {
  let answer: Awaited<ReturnType<typeof request>>;
  try {
    answer = await abortable(signal, requestLine, request);
  } catch (error) {
    throw failureOf(error, requestLine, secrets);
  }
  const { data, headers } = answer;
  return { data: readAnswer(shape, parsed(data, requestLine), requestLine), link: headers.link ?? "", headers };
}

/** The text remains if the body was cut off or is not JSON, for example the error page of a proxy. */
function parsed(data: unknown, requestLine: string): unknown {
  if (typeof data !== "string") return data;
  try {
    return parseAnswer(data);
  } catch (error) {
    if (error instanceof PluginError)
      throw new PluginError("unavailable", `alpha's answer to ${requestLine} cannot be read: ${error.message}`);
    return data;
  }
}

function readAnswer<T>(shape: z.ZodType<T>, data: unknown, requestLine: string): T {
  const parsed = shape.safeParse(data);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: "" };
  const what = typeof data === "object" && data !== null ? `${path.join(".") || "body"}: ${message}` : "not JSON, or cut off";
  throw new PluginError("unavailable", `alpha's answer to ${requestLine} cannot be read: ${what}`);
}

/** Runs until the signal is aborted. Queued and repeated requests do not check the signal themselves. */
async function abortable<T>(signal: AbortSignal, requestLine: string, run: () => Promise<T>): Promise<T> {
  const late = (): PluginError => new PluginError("timeout", `alpha did not answer ${requestLine} before the deadline`);
  if (signal.aborted) throw late();
  let leave = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(late());
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([run(), aborted]);
  } catch (error) {
    throw signal.aborted ? late() : error;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
