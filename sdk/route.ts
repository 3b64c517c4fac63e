import type { z } from "zod";
import { PluginError } from "./errors.ts";
import type { Json, MaybePromise } from "./source-event.ts";

/**
 * Scope that the caller's API key must have. `open`: no key is needed; the manifest must name such a route and the operator must
 * approve it.
 */
export type RouteScope = "read" | "write" | "admin" | "open";

/** A request to a route. */
export interface RouteRequest<I = Readonly<Record<string, unknown>>> {
  readonly query: Readonly<Record<string, string>>;
  /** Headers with names in lower case, without `authorization`, `cookie` and other credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed body; `null` if there is none, as in every GET, and if it is not JSON and the route is `raw`. */
  readonly body: Json;
  /** Bytes of the body, for a route with `raw`. Verify signatures on these. */
  readonly bytes?: Uint8Array;
  /** Query of a GET or body of a POST, parsed with the route's `input`; `{}` without a schema. */
  readonly input: I;
}
/** Context of one call to a route. */
export interface RouteContext {
  /** Aborted at the deadline of the call, at most 30 seconds, and when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Name of the API key; `anonymous` for an open route and if the service has no keys. */
  readonly caller: string;
}
/** The response of a route. */
export interface RouteResponse {
  /** 200 to 299, or 400 to 599 with the body `{error}`. */
  readonly status: number;
  /** Only headers in `allowedRouteHeaders`; the host sets all others. */
  readonly headers?: Readonly<Record<string, string>>;
  /** At most `maxRouteResponseBytes` as JSON. Not sent with 204. */
  readonly body: Json;
}

/**
 * An HTTP route that the host serves at `/plugins/<plugin id>/<name>`, with JSON requests and responses. The host checks API
 * keys, sizes and deadlines. If `run` throws, the response is `{error}`, with the status of the `PluginError`'s code, for
 * example 400 for `invalid_input` and 404 for `not_found`.
 */
export interface Route<I extends z.ZodObject = z.ZodObject> {
  /** One sentence that says what the route returns or does. */
  readonly about: string;
  readonly method: "GET" | "POST";
  readonly scope: RouteScope;
  /**
   * Whether a POST accepts a body of any type, for example a form, and receives its bytes, to verify signatures. Such a
   * route authenticates the caller itself. Default: `false`.
   */
  readonly raw?: boolean;
  /** Schema of the query of a GET, whose values are strings, or of the body of a POST. Invalid input is rejected with 400. */
  readonly input?: I;
  run(request: RouteRequest<z.output<I>>, call: RouteContext): MaybePromise<RouteResponse>;
}

/** Headers that a route may set in its response. */
export const allowedRouteHeaders: readonly string[] = [
  "content-language",
  "etag",
  "last-modified",
  "link",
  "location",
  "retry-after",
  "x-request-id",
  "x-total-count",
];
/** Maximum size of a response body, in bytes of JSON. */
export const maxRouteResponseBytes: number = 2 * 1024 * 1024;

/** Defines a route, with `run` typed by `input`. Throws a `TypeError` for an invalid method or scope. */
export function route<I extends z.ZodObject = z.ZodObject>(declared: Route<I>): Route<I> {
  if (!["GET", "POST"].includes(declared.method)) throw new TypeError('route: method must be "GET" or "POST"');
  if (!["read", "write", "admin", "open"].includes(declared.scope))
    throw new TypeError('route: scope must be "read", "write", "admin" or "open"');
  return Object.freeze({ ...declared });
}

/** Calls a route as the host does. Throws a `PluginError` with the code `invalid_input` if `input` rejects the request. */
export async function callRoute(route: Route, request: Omit<RouteRequest, "input">, call: RouteContext): Promise<RouteResponse> {
  const parsed = route.input?.safeParse(route.method === "GET" ? request.query : request.body);
  if (parsed?.error) {
    const [issue] = parsed.error.issues;
    throw new PluginError(
      "invalid_input",
      `${issue?.path.length ? `${issue.path.map(String).join(".")}: ` : ""}${issue?.message}`,
    );
  }
  return route.run({ ...request, input: parsed?.data ?? {} }, call);
}

/** Why a response of a route is invalid; `null` if it is valid. */
export function routeResponseError(answer: unknown): string | null {
  if (typeof answer !== "object" || answer === null) return "it must be {status, headers?, body}";
  const { status, headers = {}, body } = answer as { status?: unknown; headers?: unknown; body?: unknown };
  const right = typeof status === "number" && Number.isInteger(status);
  if (!right || !((status >= 200 && status < 300) || (status >= 400 && status < 600)))
    return `status must be 200 to 299 or 400 to 599; it is ${JSON.stringify(status)}`;
  if (status >= 400 && !isError(body)) return `the body of a ${status} must be {error} with a message`;
  if (typeof headers !== "object" || headers === null) return "headers must be an object of strings";
  for (const [name, value] of Object.entries(headers)) {
    if (!allowedRouteHeaders.includes(name))
      return `the header ${name.slice(0, 100)} is not allowed; allowed are ${allowedRouteHeaders.join(", ")}`;
    if (typeof value !== "string" || !/^[\x20-\x7e]{0,2000}$/.test(value))
      return `the header ${name} must be a string of at most 2,000 printable ASCII characters`;
  }
  const bytes = sizeOf(body);
  if (bytes === null) return "body must be JSON";
  return bytes > maxRouteResponseBytes ? `the body must have at most ${maxRouteResponseBytes} bytes; it has ${bytes}` : null;
}

const isError = (body: unknown): boolean =>
  typeof body === "object" &&
  body !== null &&
  Object.keys(body).join() === "error" &&
  typeof (body as { error: unknown }).error === "string";

function sizeOf(body: unknown): number | null {
  try {
    const text = JSON.stringify(body);
    return text === undefined ? null : new TextEncoder().encode(text).byteLength;
  } catch {
    return null;
  }
}
