import { httpRoute, type Operation } from "@signalbox/schema/operation";
import { readClientConfig } from "../platform/config.ts";
import { placesOf } from "../transports/http/request.ts";

export interface Service {
  readonly url: string;
  readonly apiKey: string | undefined;
  /** For a stream: the id of the last event that was read. The stream continues after it. */
  readonly lastEventId?: string | undefined;
  /** How long to wait for the whole answer, in milliseconds. Default: as long as `fetch` waits, which is minutes. */
  readonly timeoutMs?: number;
}

/** The service that SIGNALBOX_URL and SIGNALBOX_API_KEY name. */
export function namedService(): Service {
  const { SIGNALBOX_URL: url, SIGNALBOX_API_KEY: apiKey } = readClientConfig();
  return { url, apiKey };
}

/** The same for requests that take seconds even while the database is unavailable: a service that takes longer is frozen. */
export const namedServiceInTime = (): Service => ({ ...namedService(), timeoutMs: 30_000 });

export interface Answer {
  /** Parsed JSON; `undefined` if the response has no body. */
  readonly value: unknown;
  /**
   * For a list: the number of items on all pages, as the service counted them, for example `10000+` if there are more than it
   * counts.
   */
  readonly total: string | null;
  /** For a list: the cursor of the next page. */
  readonly nextCursor?: string | null;
  /** The answer is complete, but its status says that the service does not work: `GET /health` with 503. */
  readonly isFailure?: boolean;
}

/** The service refused the request, failed or did not respond: exit code 1. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  /** The status of the response; `undefined` if there was none. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/** The connection was closed before the end of the response. */
export class IncompleteResponse extends RequestError {}

/** Sends a request for an operation and returns the value of the answer. */
export type Call = <T>(op: Operation, input?: Readonly<Record<string, unknown>>) => Promise<T>;

export const callerOf =
  (service: Service, write: (text: string) => void = () => {}): Call =>
  async <T>(op: Operation, input: Readonly<Record<string, unknown>> = {}) =>
    (await request(op, input, service, write)).value as T;

/** The same for the service that the environment names. */
export const ask: Call = (op, input) => callerOf(namedService())(op, input);

/**
 * Sends a request to a running service. A body that is not JSON, such as a stream of events, is passed to `write` while it
 * arrives.
 */
export async function request(
  op: Operation,
  input: Readonly<Record<string, unknown>>,
  service: Service,
  write: (text: string) => void,
): Promise<Answer> {
  const { url, timeoutMs } = service;
  const late = timeoutMs === undefined ? null : AbortSignal.timeout(timeoutMs);
  try {
    return await exchange(op, input, { ...service, late }, write);
  } catch (error) {
    if (!late?.aborted) throw error;
    throw new RequestError(
      `The service at ${url} has not answered within ${(timeoutMs ?? 0) / 1000} s. It may be frozen or overloaded: read its log, and restart it if necessary.`,
    );
  }
}

interface Exchange extends Service {
  readonly late: AbortSignal | null;
}

async function exchange(
  op: Operation,
  input: Readonly<Record<string, unknown>>,
  service: Exchange,
  write: (text: string) => void,
): Promise<Answer> {
  const response = await send(op, input, service);
  if (response.status >= 300 && response.status < 400) throw redirected(response, op, input, service.url);
  const type = response.headers.get("content-type") ?? "";
  const isFailure = !response.ok;
  if (isFailure && !(response.status === op.alternateStatus?.status && /json/.test(type)))
    throw new RequestError(await complaint(response, service.url), response.status);
  const noValue = { value: undefined, total: null };
  if (response.status === 204) return noValue;
  const total = response.headers.get("x-total-count");
  if (/json/.test(type))
    return { value: await jsonOf(response, service.url), total, nextCursor: response.headers.get("x-next-cursor"), isFailure };
  if (op.serverSentEvents === null || !type.startsWith("text/event-stream")) throw notSignalbox(service.url);
  for await (const text of textsOf(response, service.url)) write(text);
  return noValue;
}

/** Not followed: `fetch` would send a POST again as a GET, without its body, and would not send the API key to another origin. */
function redirected(response: Response, op: Operation, input: Readonly<Record<string, unknown>>, url: string): RequestError {
  const target = URL.parse(response.headers.get("location") ?? "", response.url);
  // Its query may contain a secret.
  const address = target === null ? "" : `${target.origin}${target.pathname}`;
  const path = pathOf(op, input);
  const remedy = address.endsWith(path)
    ? `Set SIGNALBOX_URL to ${address.slice(0, -path.length)}`
    : "Set SIGNALBOX_URL to a URL at which the service itself answers";
  return new RequestError(`${url} redirects to ${address || "no valid URL"}, so nothing was done. ${remedy}.`, response.status);
}

/** For example the login page of a proxy. */
const notSignalbox = (url: string): RequestError => {
  const { origin, pathname } = new URL(url);
  const example = pathname === "/" ? "" : `, for example ${origin}, without a path`;
  return new RequestError(
    `The answer of ${url} is not from Signalbox. Set SIGNALBOX_URL to a URL at which the service itself answers${example}.`,
  );
};

async function jsonOf(response: Response, url: string): Promise<unknown> {
  const text = await response.text().catch(() => {
    throw incomplete(url);
  });
  try {
    return JSON.parse(text);
  } catch {
    throw notSignalbox(url);
  }
}

const incomplete = (url: string): IncompleteResponse =>
  new IncompleteResponse(`The connection to ${url} was closed before the end of the response.`);

async function* textsOf({ body }: Response, url: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body ?? []) yield decoder.decode(chunk, { stream: true });
  } catch {
    throw incomplete(url);
  }
}

async function send(
  op: Operation,
  input: Readonly<Record<string, unknown>>,
  { url, apiKey, lastEventId, late }: Exchange,
): Promise<Response> {
  const { method } = httpRoute(op);
  const places = placesOf(op);
  const query = new URLSearchParams(
    places.query.filter((name) => input[name] !== undefined).map((name) => [name, String(input[name])]),
  );
  const body = Object.fromEntries(Object.entries(input).filter(([name]) => places.body.includes(name)));
  const sendsBody = places.body.length > 0 && (places.bodyNeeded || Object.keys(body).length > 0);
  try {
    return await fetch(`${url.replace(/\/+$/, "")}${pathOf(op, input)}${query.size > 0 ? `?${query}` : ""}`, {
      method,
      headers: {
        ...(sendsBody && { "content-type": "application/json" }),
        ...(apiKey && { authorization: `Bearer ${apiKey}` }),
        ...(lastEventId && { "last-event-id": lastEventId }),
      },
      ...(sendsBody && { body: JSON.stringify(body) }),
      signal: late,
      redirect: "manual",
    });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new RequestError(
      `No service answers at ${url} (${reasonOf(cause)}). Start one with \`signalbox start\`, or set SIGNALBOX_URL to its URL.`,
    );
  }
}

const pathOf = (op: Operation, input: Readonly<Record<string, unknown>>): string =>
  httpRoute(op).path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(input[name])));

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = "code" in cause ? String(cause.code) : "";
  // OpenSSL's own message is a line of its source code.
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER") return "the port does not use TLS, so the URL begins with http";
  if (cause.message.includes("does not match the HTTP/1.1 protocol"))
    return "the port does not speak HTTP/1.1; it may be the port for gRPC";
  return cause.message.trim() || code || cause.name;
}

/**
 * The remedy if the service received the path of the URL as part of its own: it may be that of a page or of the operations, copied from
 * a browser. `null` for other errors, for example if a proxy removed the path, or an object is missing.
 */
function tooLongUrl(url: string, { status }: Response, error: string): string | null {
  const { origin, pathname } = new URL(url);
  const path = pathname.replace(/\/+$/, "");
  if (status !== 404 || path === "" || !error.startsWith(`There is no ${path}/`)) return null;
  const base = /^(.*?)\/+(?:api|console|docs|mcp|webhook)(?:\/|$)/.exec(path)?.[1] ?? "";
  return `The service has no operations under ${path}. Set SIGNALBOX_URL to ${origin}${base}.`;
}

async function complaint(response: Response, url: string): Promise<string> {
  const text = await response.text().catch(() => "The body of the response is incomplete.");
  const hint = response.status === 401 ? " Set SIGNALBOX_API_KEY to a key of this service." : "";
  try {
    const { error } = JSON.parse(text);
    if (typeof error === "string") return tooLongUrl(url, response, error) ?? `${error}${hint}`;
  } catch {
    // The body is not from the service, but for example an error page of a proxy.
  }
  return `The service answered ${response.status}: ${text.slice(0, 500)}`;
}
