import { createHash } from "node:crypto";
import { Octokit } from "@octokit/core";
import { retry } from "@octokit/plugin-retry";
import { throttling } from "@octokit/plugin-throttling";
import { type Capabilities, PluginError } from "@signalbox/sdk";
import type { z } from "zod";
import { orAborted, pause } from "./deadline.ts";
import { failureOf } from "./failure.ts";
import type { Settings } from "./settings.ts";

/** A wait that the platform asks for is kept up to here; the host takes longer ones. Milliseconds. */
const longestWait = 60_000;
const tries = 3;

export type Parameters = Readonly<Record<string, string | number | null>>;
export interface Answer<T> {
  readonly data: T;
  /** The `Link` header, `""` without one. */
  readonly link: string;
}
type Request = <T>(route: string, parameters: Parameters, shape: z.ZodType<T>, signal: AbortSignal) => Promise<Answer<T>>;

/** Requests in the name of one account. Both throw a `PluginError`, and `timeout` as soon as the signal is aborted. */
export interface Client {
  /** Repeated on 5xx and lost connections. */
  readonly read: Request;
  /** Never repeated unless it was refused by a rate limit: a write whose answer is lost may have been carried out. */
  readonly write: Request;
}

const Reader = Octokit.plugin(retry, throttling);
const Writer = Octokit.plugin(throttling);

/** One client per account, so that its pace is kept over all calls. */
export function clients(capabilities: Pick<Capabilities, "fetch" | "log">): (connection: Settings) => Client {
  const kept = new Map<string, Client>();
  return (connection) => {
    const key = `${connection.api_url} ${connection.token ?? ""}`;
    let client = kept.get(key);
    if (!client) {
      // Tokens are rotated; a long-lived process must not keep every one it ever saw.
      if (kept.size >= 200) kept.delete(kept.keys().next().value as string);
      client = clientFor(connection, capabilities);
      kept.set(key, client);
    }
    return client;
  };
}

function clientFor({ api_url, token, webhook_secret }: Settings, { fetch, log }: Pick<Capabilities, "fetch" | "log">): Client {
  const options = {
    baseUrl: api_url.replace(/\/+$/, ""),
    userAgent: "signalbox",
    ...(token === undefined ? {} : { auth: token }),
    request: { fetch: unrepeated(fetch) },
    log: {
      debug: () => {},
      info: () => {},
      warn: (message: string) => log(`warning: ${message}`),
      error: () => {},
    },
    // 429 is waited for below, as long as the platform says and no longer than the deadline.
    retry: { retries: 2, retryAfterBaseValue: 250, doNotRetry: [400, 401, 403, 404, 409, 410, 422, 429, 451] },
    throttle: paceFor(api_url, token),
  };
  const secrets = [token, webhook_secret].filter((secret) => secret !== undefined);
  const through =
    (octokit: Octokit): Request =>
    (route, parameters, shape, signal) =>
      send(octokit, secrets, route, parameters, shape, signal);
  return { read: through(new Reader(options)), write: through(new Writer(options)) };
}

/**
 * The public platform wants writes a second apart, and comments three. Its limits are off on other servers unless their
 * owner turns them on, and then they say so by 403 or 429: no pace is kept there.
 */
function paceFor(api_url: string, token: string | undefined) {
  const { hostname } = new URL(api_url);
  if (hostname !== "api.github.com" && !hostname.endsWith(".ghe.com")) return { enabled: false as const };
  const id = createHash("sha256").update(`${api_url} ${token}`).digest("hex").slice(0, 16);
  // Not waited for in here: these waits do not end with the signal.
  return { id, onRateLimit: () => undefined, onSecondaryRateLimit: () => undefined };
}

/** Octokit repeats whatever failed unless it is an `AbortError`; neither a deadline nor the host's refusal gets better. */
function unrepeated(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      if (!init?.signal?.aborted && (error as Error)?.name !== "PluginError") throw error;
      throw Object.assign(new Error((error as Error)?.message, { cause: error }), { name: "AbortError" });
    }
  };
}

async function send<T>(
  octokit: Octokit,
  secrets: readonly string[],
  route: string,
  parameters: Parameters,
  shape: z.ZodType<T>,
  signal: AbortSignal,
): Promise<Answer<T>> {
  const asked = route.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name]));
  for (let count = 1; ; count++) {
    try {
      const { data, headers } = await orAborted(signal, asked, () =>
        octokit.request(route, { ...parameters, request: { signal } }),
      );
      return { data: read(shape, data, asked), link: headers.link ?? "" };
    } catch (error) {
      const failure = failureOf(error, asked, secrets);
      const wait = failure.code === "rate_limited" ? failure.retry_after_ms : undefined;
      if (wait === undefined || wait > longestWait || count >= tries) throw failure;
      if (!(await pause(wait, signal))) throw failure;
    }
  }
}

/** Octokit hands on text where an answer was cut off or was not JSON: a proxy's page, a connection that broke. */
function read<T>(shape: z.ZodType<T>, data: unknown, asked: string): T {
  const parsed = shape.safeParse(data);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: "" };
  const what = typeof data === "object" && data !== null ? `${path.join(".") || "body"}: ${message}` : "not JSON, or cut off";
  throw new PluginError("unavailable", `alpha's answer to ${asked} cannot be read: ${what}`);
}
