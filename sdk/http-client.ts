import { createHash } from "node:crypto";
import type { z } from "zod";
import { PluginError } from "./errors.ts";
import { fetchError, redact, statusError } from "./http-errors.ts";
import { throttled } from "./in-turn.ts";
import { Throttle } from "./pace.ts";
import type { SharedThrottle } from "./pace-access.ts";

export interface HttpClientOptions {
  /** How messages name the other side, for example `beta`. */
  readonly platform: string;
  /** Address before every path, without a slash at its end. */
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The capability, never the global one. */
  readonly fetch: typeof globalThis.fetch;
  /** Values that no message may show. */
  readonly secrets: readonly string[];
  /** Least milliseconds between the starts of two writes; 0 where the platform publishes no limit. */
  readonly writeInterval?: number;
  /** The same for reads. */
  readonly readInterval?: number;
  /** The platform counts reads and writes together: the two keep one pace. */
  readonly sharedLimit?: boolean;
  /** The capability: all replicas keep one pace. This client alone where absent. */
  readonly throttle?: SharedThrottle;
}
export interface HttpRequest<T> {
  /** For example `GET /projects/{project}/issues`; each `{name}` is filled from `path`, encoded. */
  readonly route: string;
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** What is read of the answer. An answer without a body is `null`. */
  readonly schema: z.ZodType<T>;
  readonly signal: AbortSignal;
}
export interface HttpResponse<T> {
  readonly data: T;
  readonly headers: Headers;
}

/** JSON over HTTP in the name of one account. Everything that goes wrong is a `PluginError`. */
export interface HttpClient {
  /** Asked three times at most where the other side is unavailable. */
  read<T>(request: HttpRequest<T>): Promise<HttpResponse<T>>;
  /** Sent again only after a refusal by a rate limit: a write whose answer is lost may have been carried out. */
  write<T>(request: HttpRequest<T>): Promise<HttpResponse<T>>;
}

/** A client for one account. Keep it, so that its pace holds over all calls. */
export function httpClient(settings: HttpClientOptions): HttpClient {
  const { readInterval = 0, writeInterval = 0, sharedLimit: together = false, throttle: pace } = settings;
  const key = keyOf(settings);
  const shared = pace === undefined ? {} : { shared: pace };
  const writes = new Throttle({ interval: writeInterval, key, ...shared });
  // Reads that keep no pace need not agree on one: what is refused is asked again.
  const common = together ? { key, ...shared } : readInterval > 0 ? { key: `${key}:reads`, ...shared } : {};
  const reads = new Throttle({ interval: readInterval, slots: 16, ...common });
  const through =
    (own: Throttle, again: (error: PluginError) => boolean): HttpClient["read"] =>
    (request) => {
      const asked = askedOf(request);
      const { platform } = settings;
      return throttled({ throttle: own, platform, request: asked, isRetryable: again, signal: request.signal }, () =>
        send(settings, asked, request),
      );
    };
  return { read: through(reads, (error) => error.code === "unavailable"), write: through(writes, () => false) };
}

/** The account, without its credential. */
const keyOf = ({ platform, base, headers }: HttpClientOptions): string =>
  `${platform}:${createHash("sha256")
    .update(JSON.stringify([base, headers]))
    .digest("hex")
    .slice(0, 32)}`;

const askedOf = ({ route, path }: HttpRequest<unknown>): string =>
  route.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path?.[name] ?? ""));

async function send<T>(settings: HttpClientOptions, asked: string, request: HttpRequest<T>): Promise<HttpResponse<T>> {
  const { platform, secrets, fetch } = settings;
  const { signal, body, schema: shape } = request;
  const [method = "", path = ""] = asked.split(" ");
  const url = new URL(settings.base + path);
  for (const [name, value] of Object.entries(request.query ?? {}))
    if (value !== undefined) url.searchParams.set(name, String(value));
  const headers = {
    accept: "application/json",
    "user-agent": "signalbox",
    ...settings.headers,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    text = await response.text();
  } catch (error) {
    if (signal.aborted) throw new PluginError("timeout", `${platform} did not answer ${asked} before the deadline`);
    throw fetchError(platform, asked, error, secrets);
  }
  if (!response.ok) throw statusError(platform, asked, response.status, response.headers, redact(said(text), secrets));
  return { data: read(shape, text, `${platform}'s answer to ${asked}`), headers: response.headers };
}

/** The platform's own message where there is one: pages of proxies help nobody. */
function said(text: string): string {
  try {
    const found = JSON.parse(text) as Record<string, unknown>;
    const parts = ["message", "error", "errorMessages", "errors", "detail", "error_description"].flatMap((name) => {
      const part = found?.[name];
      if (part === undefined || part === null || (Array.isArray(part) && part.length === 0)) return [];
      return typeof part === "string" ? part : JSON.stringify(part);
    });
    return parts.length > 0 ? parts.join("; ") : text;
  } catch {
    return text
      .replace(/<[^>]*>/g, " ")
      .replace(/\s+/g, " ")
      .trim();
  }
}

function read<T>(shape: z.ZodType<T>, text: string, what: string): T {
  let data: unknown = null;
  try {
    if (text !== "") data = JSON.parse(text);
  } catch {
    throw new PluginError("unavailable", `${what} cannot be read: not JSON, or cut off`);
  }
  const parsed = shape.safeParse(data);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: "" };
  throw new PluginError("unavailable", `${what} cannot be read: ${path.join(".") || "body"}: ${message}`);
}
