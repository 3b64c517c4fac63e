import type { z } from "zod";
import type { Json, MaybePromise } from "./contract.ts";
import { PluginError } from "./errors.ts";

/** The scope that the caller's API key must have; `open`: none is asked for, which the manifest must name and the operator approve. */
export type RouteScope = "read" | "write" | "admin" | "open";

export interface RouteRequest<I = Readonly<Record<string, unknown>>> {
  readonly query: Readonly<Record<string, string>>;
  /** Names in lower case, without `authorization`, `cookie` and other credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** `null` where there is none, as in every GET. */
  readonly body: Json;
  /** What `input` made of the query of a GET, or of the body of a POST; `{}` without a schema. */
  readonly input: I;
}
export interface RouteContext {
  /** Aborted at the deadline of the call, thirty seconds at the most, and when the caller goes away. */
  readonly signal: AbortSignal;
  /** Name of the API key; `anonymous` at an open route, and while the service has no keys. */
  readonly caller: string;
}
export interface RouteResponse {
  /** 200 to 299, or 400 to 599 with the body `{error}`. */
  readonly status: number;
  /** Those of `allowedRouteHeaders`; the host sets the others. */
  readonly headers?: Readonly<Record<string, string>>;
  /** At most `maxRouteResponseBytes` as JSON; not sent with 204. */
  readonly body: Json;
}

/**
 * An HTTP route, served by the host at `/plugins/<plugin id>/<name>`: JSON in, JSON out. The host checks keys, sizes and
 * deadlines. What `run` throws is answered `{error}`, a `PluginError` by its code: `invalid_input` is 400, `not_found` 404.
 */
export interface Route<I extends z.ZodObject = z.ZodObject> {
  /** One sentence: what it answers, or does. */
  readonly about: string;
  readonly method: "GET" | "POST";
  readonly scope: RouteScope;
  /** Of the query of a GET, whose values are strings, or of the body of a POST. What it refuses is answered 400. */
  readonly input?: I;
  run(request: RouteRequest<z.output<I>>, call: RouteContext): MaybePromise<RouteResponse>;
}

/** Headers that a route may answer with. */
export const allowedRouteHeaders: readonly string[] = [
  ...["content-language", "etag", "last-modified", "link", "location", "retry-after", "x-request-id", "x-total-count"],
];
/** Longest body of an answer, bytes of JSON. */
export const maxRouteResponseBytes: number = 2 * 1024 * 1024;

/** Declares a route; gives its `run` the type of its `input`. */
export function route<I extends z.ZodObject = z.ZodObject>(declared: Route<I>): Route<I> {
  if (!["GET", "POST"].includes(declared.method)) throw new TypeError('route: method must be "GET" or "POST"');
  if (!["read", "write", "admin", "open"].includes(declared.scope))
    throw new TypeError('route: scope must be "read", "write", "admin" or "open"');
  return Object.freeze({ ...declared });
}

/** Runs a route as the host does: what its `input` refuses is a `PluginError` `invalid_input`. */
export async function callRoute(route: Route, request: Omit<RouteRequest, "input">, call: RouteContext): Promise<RouteResponse> {
  const parsed = route.input?.safeParse(route.method === "GET" ? request.query : request.body);
  if (parsed?.error) {
    const [issue] = parsed.error.issues;
    throw new PluginError("invalid_input", `${issue?.path.map(String).join(".") || "(all)"}: ${issue?.message}`);
  }
  return route.run({ ...request, input: parsed?.data ?? {} }, call);
}

/** Why the host would not send this answer; `null` where it would. */
export function routeResponseError(answer: unknown): string | null {
  if (typeof answer !== "object" || answer === null) return "it must be {status, headers?, body}";
  const { status, headers = {}, body } = answer as { status?: unknown; headers?: unknown; body?: unknown };
  const right = typeof status === "number" && Number.isInteger(status);
  if (!right || !((status >= 200 && status < 300) || (status >= 400 && status < 600)))
    return `status must be 200 to 299 or 400 to 599; it is ${JSON.stringify(status)}`;
  if (status >= 400 && !isError(body)) return `the body of a ${status} must be exactly {error}, a sentence`;
  if (typeof headers !== "object" || headers === null) return "headers must be an object of strings";
  for (const [name, value] of Object.entries(headers)) {
    if (!allowedRouteHeaders.includes(name))
      return `the header ${name.slice(0, 100)} is none of ${allowedRouteHeaders.join(", ")}`;
    if (typeof value !== "string" || !/^[\x20-\x7e]{0,2000}$/.test(value))
      return `the header ${name} must be a string of at most 2000 printable ASCII characters`;
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
