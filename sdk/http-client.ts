import { createHash } from "node:crypto";
import type { z } from "zod";
import { PluginError } from "./errors.ts";
import { fetchError, redact, redirectError, statusError } from "./http-errors.ts";
import { parseAnswer } from "./parse-answer.ts";
import { textOfMarkup } from "./plain-markdown.ts";
import { checkHeaders, encodeForUrl } from "./request-parts.ts";
import { inMemoryThrottle, type SharedThrottle } from "./shared-throttle.ts";
import { Throttle } from "./throttle.ts";
import { throttled } from "./throttled.ts";

/** Options of `httpClient`. */
export interface HttpClientOptions {
  /** Name of the platform in error messages, for example `beta`. */
  readonly platform: string;
  /** Base URL, without a trailing slash. */
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The capability `fetch`, not the global one. */
  readonly fetch: typeof globalThis.fetch;
  /** Values to redact in error messages. */
  readonly secrets: readonly string[];
  /** Minimum milliseconds between the starts of two writes. Default: 0. */
  readonly writeInterval?: number;
  /** Minimum milliseconds between the starts of two reads. Default: 0. */
  readonly readInterval?: number;
  /** Whether the platform has one rate limit for reads and writes together. Default: `false`. */
  readonly sharedLimit?: boolean;
  /** The capability `throttle`, which throttles all replicas together. Default: only this client is throttled. */
  readonly throttle?: SharedThrottle;
}
/** One request of an `HttpClient`. */
export interface HttpRequest<T> {
  /** Method and path, for example `GET /projects/{project}/issues`. Each `{name}` is replaced with the encoded value from `path`. */
  readonly route: string;
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** Schema of the response body. An empty body is `null`. */
  readonly schema: z.ZodType<T>;
  readonly signal: AbortSignal;
}
/** Parsed body and headers of a successful response. */
export interface HttpResponse<T> {
  readonly data: T;
  readonly headers: Headers;
}

/** A JSON client for one account. It throws a `PluginError` for every failure. */
export interface HttpClient {
  /** Sends a read, at most three times if the platform is unavailable. */
  read<T>(request: HttpRequest<T>): Promise<HttpResponse<T>>;
  /** Sends a write. It is only repeated after a rate limit error, because a write without a response may have succeeded. */
  write<T>(request: HttpRequest<T>): Promise<HttpResponse<T>>;
}

/** Creates a client for one account. Keep it for all calls, so that they are throttled together. */
export function httpClient(settings: HttpClientOptions): HttpClient {
  const { readInterval = 0, writeInterval = 0, sharedLimit = false } = settings;
  const key = keyOf(settings);
  const throttle = settings.throttle ?? (sharedLimit ? inMemoryThrottle() : undefined);
  const shared = throttle === undefined ? {} : { shared: throttle };
  const writes = new Throttle({ interval: writeInterval, key, ...shared });
  // Reads without an interval need no shared throttle: a rejected read is repeated.
  const common = sharedLimit ? { key, ...shared } : readInterval > 0 ? { key: `${key}:reads`, ...shared } : {};
  const reads = new Throttle({ interval: readInterval, slots: 16, ...common });
  const sender =
    (own: Throttle, isRetryable: (error: PluginError) => boolean): HttpClient["read"] =>
    async (request) => {
      const { platform } = settings;
      const requestLine = requestLineOf(platform, request);
      return throttled({ throttle: own, platform, request: requestLine, isRetryable, signal: request.signal }, () =>
        send(settings, requestLine, request),
      );
    };
  return { read: sender(reads, (error) => error.code === "unavailable"), write: sender(writes, () => false) };
}

/** Identifies the account without showing its credential. */
const keyOf = ({ platform, base, headers }: HttpClientOptions): string =>
  `${platform}:${createHash("sha256")
    .update(JSON.stringify([base, headers]))
    .digest("hex")
    .slice(0, 32)}`;

const requestLineOf = (platform: string, { route, path }: HttpRequest<unknown>): string =>
  route.replace(/\{(\w+)\}/g, (_, name: string) => encodeForUrl(platform, name, path?.[name] ?? ""));

async function send<T>(settings: HttpClientOptions, requestLine: string, request: HttpRequest<T>): Promise<HttpResponse<T>> {
  const { platform, secrets, fetch } = settings;
  const { signal, body, schema } = request;
  const [method = "", path = ""] = requestLine.split(" ");
  const url = new URL(settings.base + path);
  for (const [name, value] of Object.entries(request.query ?? {}))
    if (value !== undefined) url.searchParams.set(name, String(value));
  const headers = {
    accept: "application/json",
    "user-agent": "signalbox",
    ...settings.headers,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  checkHeaders(platform, headers);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    // The status of an error counts, even if its body breaks off.
    text = await response.text().catch((error) => {
      if (response.ok || signal.aborted) throw error;
      return "";
    });
  } catch (error) {
    if (signal.aborted) throw new PluginError("timeout", `${platform} did not answer ${requestLine} before the deadline`);
    throw fetchError(platform, requestLine, error, secrets);
  }
  if (!response.ok) {
    const { status, headers: answered } = response;
    throw (
      redirectError(platform, requestLine, response, settings.base) ??
      statusError(platform, requestLine, status, answered, redact(errorText(text), secrets))
    );
  }
  const what = `the response of ${platform} to ${requestLine}`;
  const page = /^\s*<(!doctype\s+)?html\b/i.test(text);
  // A login page or a proxy's notice, sent with the status 200.
  if (page) throw new PluginError("unavailable", `${what} is not valid JSON but a web page: ${redact(errorText(text), secrets)}`);
  return { data: readBody(schema, text, what), headers: response.headers };
}

/** The error message in the platform's JSON, or the text of an HTML error page. */
function errorText(text: string): string {
  try {
    const found = JSON.parse(text) as Record<string, unknown>;
    const parts = ["message", "error", "errorMessages", "errors", "detail", "error_description"].flatMap((name) => {
      const part = found?.[name];
      if (part === undefined || part === null || (Array.isArray(part) && part.length === 0)) return [];
      return typeof part === "string" ? part : JSON.stringify(part);
    });
    return parts.length > 0 ? parts.join("; ") : text;
  } catch {
    return textOfMarkup(text).replace(/\s+/g, " ");
  }
}

function readBody<T>(schema: z.ZodType<T>, text: string, what: string): T {
  let data: unknown = null;
  try {
    if (text !== "") data = parseAnswer(text);
  } catch (error) {
    const fault = error instanceof PluginError ? `cannot be read: ${error.message}` : "is not valid JSON";
    throw new PluginError("unavailable", `${what} ${fault}`);
  }
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0] ?? { path: [], message: "" };
  throw new PluginError("unavailable", `${what} is not as expected: ${path.join(".") || "body"}: ${message}`);
}
