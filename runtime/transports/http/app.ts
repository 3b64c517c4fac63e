import { OpenAPIHono } from "@hono/zod-openapi";
import { httpRoute } from "@signalbox/schema/operation";
import { Problem, problem } from "@signalbox/schema/problem";
import type { Context as HonoContext } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { cannotStore, unavailableAnswer } from "../../platform/database/unavailable.ts";
import { causeOf } from "../../platform/error-text.ts";
import type { Log } from "../../platform/log.ts";
import type { Networks } from "../../platform/network/networks.ts";
import { type Actor, type BoundOperation, type Context, Events, invokeWithEvents, withSignal } from "../../platform/operation.ts";
import type { Authenticate } from "./authenticate.ts";
import type { BodyBudget } from "./body.ts";
import { CheckedReader, eventStream } from "./event-stream.ts";
import { describe } from "./openapi.ts";
import { placesOf, readInput } from "./request.ts";
import { proofOf } from "./session-cookie.ts";

export interface HttpOptions {
  readonly operations: readonly BoundOperation[];
  readonly authenticate: Authenticate;
  readonly context: (request: Request, actor: Actor) => Context;
  readonly maxBodyBytes: number;
  /** Maximum number of bytes of all request bodies in memory. Default: no limit. */
  readonly budget?: BodyBudget;
  readonly log: Log;
  readonly version: string;
  /** Origin and path by which browsers reach the service, if a proxy changes them. */
  readonly publicUrl?: URL | null;
  /** Proxies whose `X-Forwarded-For` is believed. Default: none. */
  readonly trustedProxies?: Networks;
  /** Aborted when the service stops, with the reason that the readers of events get. Default: never. */
  readonly stopping?: AbortSignal;
}

/** The HTTP projection: a route for every operation, and `/openapi.json`. */
export function createApp(options: HttpOptions): OpenAPIHono {
  const app = new OpenAPIHono();
  app.use(async (c, next) => {
    c.set("trustedProxies", options.trustedProxies);
    if (c.req.raw.url.includes("%")) refuseUndecodable(c);
    await next();
  });
  const operations = options.operations.filter(({ op }) => op.http !== null);
  for (const [path, group] of byPath(operations)) {
    for (const one of group) app.on(httpRoute(one.op).method, httpRoute(one.op).path, endpoint(one, options));
    // Registered directly after the methods, so that `/api/tasks/seed` is never read as the task "seed".
    const otherMethods = opaqueMethods(path, options.operations);
    const allowed = [...new Set(group.map(({ op }) => httpRoute(op).method))].join(", ");
    app.all(path, (c, next) => (otherMethods.has(c.req.method) ? next() : methodNotAllowed(c, allowed)));
  }
  describe(app, operations, options.version);
  app.all("/openapi.json", (c) => methodNotAllowed(c, "GET"));
  app.notFound((c) =>
    refuse(c, problem("not_found", `There is no ${c.req.path.slice(0, 200)} here; GET /openapi.json lists all operations.`)),
  );
  app.onError((error, c) => refuse(c, asProblem(error, c, options.log)));
  return app;
}

function endpoint(operation: BoundOperation, options: HttpOptions) {
  const { op } = operation;
  const places = placesOf(op);
  const limits = { maxBytes: options.maxBodyBytes, budget: options.budget };
  // A key that is revoked sees no further changes, but what it started before ends in an orderly way.
  const isFollowing = op.serverSentEvents !== null && httpRoute(op).method === "GET";
  return async (c: HonoContext): Promise<Response> => {
    const proof = proofOf(c, options.publicUrl ?? null);
    const actor = await options.authenticate(proof, op.scope);
    const input = await readInput(c, op, places, limits);
    const check = () => options.authenticate({ ...proof, isRepeated: true }, op.scope);
    const reader = isFollowing ? new CheckedReader(check, options.stopping) : null;
    const ofRequest = options.context(c.req.raw, actor);
    const context = reader ? withSignal(ofRequest, reader.signal) : ofRequest;
    const output = await invokeWithEvents(operation, input, context);
    if (output instanceof Events) return eventStream(output.all, (error) => asProblem(error, c, options.log).message, reader);
    if (op.status === 204) return c.body(null, 204);
    const status = (op.alternateStatus?.when(output) ? op.alternateStatus.status : op.status) as ContentfulStatusCode;
    if (!op.paginated) return c.json(output as object, status);
    return pageOf(c, output as Page, status);
  };
}

interface Page {
  readonly items: unknown[];
  readonly total: number;
  readonly total_is_minimum?: boolean;
  readonly next_cursor?: string | null;
}

/** One page as an array; the cursor and the total are in headers. */
function pageOf(c: HonoContext, { items, total, total_is_minimum, next_cursor }: Page, status: ContentfulStatusCode): Response {
  c.header("X-Total-Count", `${total}${total_is_minimum ? "+" : ""}`);
  if (next_cursor) {
    const query = new URLSearchParams(c.req.query());
    query.delete("offset");
    query.set("cursor", next_cursor);
    c.header("X-Next-Cursor", next_cursor);
    c.header("Link", `<${c.req.path}?${query}>; rel="next"`);
  }
  return c.json(items, status);
}

/**
 * Operations by path. At the same position, literal paths are before those with parameters. Paths that differ only in the names
 * of their parameters count as one: `GET /api/integrations/:source/test` and `POST /api/integrations/:id/test`.
 */
function byPath(operations: readonly BoundOperation[]): [string, BoundOperation[]][] {
  const groups = Map.groupBy(operations, ({ op }) => httpRoute(op).path.replace(/:\w+/g, ":"));
  const named = [...groups.values()].map((group): [string, BoundOperation[]] => [
    httpRoute((group[0] as BoundOperation).op).path,
    group,
  ]);
  return named.sort(([a], [b]) => (a.replaceAll(":", "~") < b.replaceAll(":", "~") ? -1 : 1));
}

/**
 * Methods of operations with an opaque last parameter that apply to a literal path: DELETE of the memory with the key "search".
 */
function opaqueMethods(path: string, operations: readonly BoundOperation[]): Set<string> {
  const routes = operations.filter(({ op }) => op.rawPathParameter).map(({ op }) => httpRoute(op));
  const same = (pattern: string) => pattern !== path && pattern.replace(/:\w+$/, "") === path.replace(/[^/:]+$/, "");
  return new Set(routes.filter((one) => same(one.path)).map((one) => one.method));
}

/** `allowed`: the methods of the path, comma-separated. */
export function methodNotAllowed(c: HonoContext, allowed: string): Response {
  c.header("Allow", allowed);
  return refuse(c, problem("method_not_allowed", `${c.req.path} takes ${allowed}, not ${c.req.method}.`));
}

function refuseUndecodable(c: HonoContext): void {
  let path: string;
  try {
    path = decodeURIComponent(new URL(c.req.raw.url).pathname);
  } catch {
    throw problem("bad_request", "The path is not valid: a `%` in it must start a UTF-8 escape such as %20.");
  }
  if (path.includes("\0")) throw problem("bad_request", "The path is not valid: it must not contain the character U+0000.");
}

/** Responds with the format of all errors. */
export function refuse(c: HonoContext, fault: Problem): Response {
  if (fault.retryAfter !== undefined) c.header("Retry-After", String(Math.max(1, Math.ceil(fault.retryAfter))));
  if (fault.code === "unauthenticated") c.header("WWW-Authenticate", "Bearer");
  return c.json({ error: fault.message }, fault.status as ContentfulStatusCode);
}

/** The problem that the caller gets for an error. The text of an unexpected error is only logged. */
function asProblem(error: unknown, c: HonoContext, log: Log): Problem {
  if (error instanceof Problem) return error;
  const unavailable = unavailableAnswer(error);
  if (cannotStore(error))
    log.error("the database cannot store data", { method: c.req.method, path: c.req.path, error: causeOf(error) });
  if (unavailable) return problem("unavailable", unavailable.message, { retryAfter: unavailable.retryAfter });
  if (error instanceof HTTPException && error.status < 500)
    return problem("bad_request", error.message || "The request is not valid.");
  // The caller has disconnected, which is not an error of the service.
  if (c.req.raw.signal.aborted) return problem("unavailable", "The caller disconnected.");
  log.error("request failed", { method: c.req.method, path: c.req.path, error });
  return problem("internal", "Something went wrong on our side. The service's log has the details.");
}
