import type { z } from "zod";
import { PluginError } from "./errors.ts";
import { errorOfFetch, errorOfStatus, redact } from "./http-errors.ts";
import { Pace, pause } from "./pace.ts";

export interface HttpSettings {
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
}
export interface HttpRequest<T> {
  /** For example `GET /projects/{project}/issues`; each `{name}` is filled from `path`, encoded. */
  readonly route: string;
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** What is read of the answer. An answer without a body is `null`. */
  readonly shape: z.ZodType<T>;
  readonly signal: AbortSignal;
}
export interface HttpAnswer<T> {
  readonly data: T;
  readonly headers: Headers;
}

/** JSON over HTTP in the name of one account. Everything that goes wrong is a `PluginError`. */
export interface HttpClient {
  /** Asked three times at most where the other side is unavailable. */
  read<T>(request: HttpRequest<T>): Promise<HttpAnswer<T>>;
  /** Sent again only after a refusal by a rate limit: a write whose answer is lost may have been carried out. */
  write<T>(request: HttpRequest<T>): Promise<HttpAnswer<T>>;
}

const tries = 3;
/** A wait that the platform asks for is kept up to here; the host takes longer ones. Milliseconds. */
const longestWait = 60_000;

/** A client for one account. Keep it, so that its pace holds over all calls. */
export function httpClient(settings: HttpSettings): HttpClient {
  const [reads, writes] = [new Pace(settings.readInterval ?? 0, 16), new Pace(settings.writeInterval ?? 0)];
  return {
    read: (request) => paced(settings, reads, request, (error) => error.code === "unavailable"),
    write: (request) => paced(settings, writes, request, () => false),
  };
}

async function paced<T>(
  settings: HttpSettings,
  pace: Pace,
  request: HttpRequest<T>,
  again: (error: PluginError) => boolean,
): Promise<HttpAnswer<T>> {
  const { signal } = request;
  const asked = request.route.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(request.path?.[name] ?? ""));
  if (!(await pace.enter(signal))) throw notSent(settings, asked, pace);
  try {
    for (let count = 1; ; count++) {
      if (!(await pace.start(signal))) throw notSent(settings, asked, pace);
      try {
        return await send(settings, asked, request);
      } catch (error) {
        const failure = error as PluginError;
        const wait = waitFor(failure, count, again);
        // The others would be refused as well. A longer wait is the host's, who may have more to go by than we.
        if (failure.code === "rate_limited" && wait !== null) pace.hold(wait);
        if (wait === null || count >= tries || !(await pause(wait, signal))) throw failure;
      }
    }
  } finally {
    pace.leave();
  }
}

function waitFor(failure: PluginError, count: number, again: (error: PluginError) => boolean): number | null {
  const told = failure.retry_after_ms;
  if (failure.code === "rate_limited") return told === undefined || told > longestWait ? null : told;
  if (!again(failure) || (told ?? 0) > longestWait) return null;
  return told ?? 250 * 2 ** (count - 1);
}

/** The deadline came while the request waited for its turn: it was not carried out, so it may be tried later. */
const notSent = ({ platform }: HttpSettings, asked: string, pace: Pace): PluginError =>
  new PluginError("rate_limited", `${platform}: ${asked} was not sent before the deadline, others were before it`, {
    retry_after_ms: pace.wait,
  });

async function send<T>(settings: HttpSettings, asked: string, request: HttpRequest<T>): Promise<HttpAnswer<T>> {
  const { platform, secrets, fetch } = settings;
  const { signal, body, shape } = request;
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
    throw errorOfFetch(platform, asked, error, secrets);
  }
  if (!response.ok) throw errorOfStatus(platform, asked, response.status, response.headers, redact(said(text), secrets));
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
