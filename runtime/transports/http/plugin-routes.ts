import type { OpenAPIHono } from "@hono/zod-openapi";
import { fieldProblem, type ProblemCode, problem } from "@signalbox/schema/problem";
import { callRoute, type Json, type PluginErrorShape, type Route, type RouteResponse, routeResponseError } from "@signalbox/sdk";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { abortable } from "../../platform/abortable.ts";
import type { Log } from "../../platform/log.ts";
import type { RouteEntry } from "../../plugins/host.ts";
import { type HttpOptions, methodNotAllowed } from "./app.ts";
import { requireUnrestricted } from "./authenticate.ts";
import { type BodyLimits, readBody } from "./body.ts";
import { isJson, parseJson, readJson } from "./request.ts";
import { keyProofOf } from "./session-cookie.ts";

/** Maximum duration of a route, in milliseconds; the limit of a sandboxed plugin may be shorter. */
const timeoutMs = 30_000;
/** Maximum number of concurrent requests to all routes of one plugin. */
const maxConcurrent = 64;
/** Maximum size of a body, whatever MAX_BODY_BYTES allows: lines to a sandboxed plugin have at most 8 MiB. */
const maxBytes = 4 * 1024 * 1024;
/** Request headers with the caller's credentials. */
const credentials = /^(authorization|proxy-authorization|cookie|x-api-key)$/;

type Options = Pick<HttpOptions, "authenticate" | "maxBodyBytes" | "budget" | "log">;

/** The routes of the loaded plugins at `/plugins/<plugin>/<name>`. */
export function mountPluginRoutes(app: OpenAPIHono, routes: ReadonlyMap<string, RouteEntry>, options: Options): void {
  const underWay = new Map<string, number>();
  app.all("/plugins/:plugin/:name", async (c) => {
    c.header("Cache-Control", "no-store");
    const { plugin, name } = c.req.param();
    const entry = routes.get(`${plugin}/${name}`);
    // A caller without permission to read does not learn which plugins exist.
    const caller = requireUnrestricted(await options.authenticate(keyProofOf(c), entry?.route.scope ?? "read"));
    if (!entry) throw problem("not_found", `There is no route ${name.slice(0, 100)} of a plugin ${plugin.slice(0, 100)} here.`);
    const { route } = entry;
    const method = c.req.method === "HEAD" ? "GET" : c.req.method;
    if (method !== route.method) return methodNotAllowed(c, route.method);
    // Counted only once its body is here, so that slow senders keep no one out.
    const request = await requestOf(c, route, { maxBytes: Math.min(options.maxBodyBytes, maxBytes), budget: options.budget });
    const running = underWay.get(plugin) ?? 0;
    if (running >= maxConcurrent)
      throw problem("unavailable", `The plugin ${plugin} is already handling ${running} requests; try again in a moment.`, {
        retryAfter: 1,
      });
    underWay.set(plugin, running + 1);
    try {
      return send(c, await answerOf(entry, request, { caller: caller.name, signal: c.req.raw.signal }, options.log));
    } finally {
      const left = (underWay.get(plugin) ?? 1) - 1;
      if (left > 0) underWay.set(plugin, left);
      else underWay.delete(plugin);
    }
  });
}

type Request = Parameters<typeof callRoute>[1];

async function requestOf(c: Context, { method, raw }: Route, limits: BodyLimits): Promise<Request> {
  const query = Object.entries(c.req.queries()).map(([name, values]): [string, string] => {
    if (values.length > 1) throw fieldProblem(name, `is given ${values.length} times in the query; give it once`);
    return [name, values[0] ?? ""];
  });
  const bytes = raw && method === "POST" ? await readBody(c, limits) : undefined;
  const body = bytes ? jsonIn(c, bytes) : method === "POST" ? await readJson(c, limits) : undefined;
  return {
    query: Object.fromEntries(query),
    headers: Object.fromEntries([...c.req.raw.headers].filter(([header]) => !credentials.test(header))),
    body: (body ?? null) as Json,
    ...(bytes && { bytes }),
  };
}

/** The body for a route with `raw` may be anything; `undefined` if it is not JSON. */
function jsonIn(c: Context, bytes: Uint8Array): unknown {
  if (!isJson(c.req.header("content-type") ?? "")) return undefined;
  return parseJson(bytes, { "content-encoding": c.req.header("content-encoding") });
}

/** Calls the plugin with a timeout, and accepts its response only if it follows the contract. Throws a `Problem`. */
async function answerOf(
  { plugin, name, route }: RouteEntry,
  request: Request,
  { caller, signal }: { caller: string; signal: AbortSignal },
  log: Log,
): Promise<RouteResponse> {
  const routeFailure = (detail: string) => {
    log.warn("a plugin's route failed", { plugin, route: name, error: detail });
    return problem("bad_gateway", `The route ${name} of the plugin ${plugin} failed; the service's log says why.`);
  };
  const deadline = AbortSignal.timeout(timeoutMs);
  let answer: RouteResponse;
  try {
    const any = AbortSignal.any([signal, deadline]);
    answer = await abortable(callRoute(route, request, { caller, signal: any }), any);
  } catch (error) {
    if (signal.aborted) throw problem("unavailable", "The caller disconnected.");
    if (deadline.aborted)
      throw problem("unavailable", `The plugin ${plugin} did not answer within ${timeoutMs / 1000} seconds.`, { cause: error });
    const { code, message, retry_after_ms } = error as Partial<PluginErrorShape>;
    const problemCode = typeof code === "string" && Object.hasOwn(meanings, code) ? meanings[code] : undefined;
    if (!problemCode) throw routeFailure(String(message ?? error));
    const wait = retry_after_ms === undefined ? {} : { retryAfter: retry_after_ms / 1000 };
    throw problem(problemCode, String(message), { ...wait, cause: error });
  }
  const fault = routeResponseError(answer);
  if (fault !== null) throw routeFailure(`its response is not valid: ${fault}`);
  return answer;
}

/** The problem for a plugin's error. The texts of all other errors were not written for callers, so they are only logged. */
const meanings: Readonly<Record<string, ProblemCode>> = {
  invalid_input: "bad_request",
  not_found: "not_found",
  conflict: "wrong_state",
  rate_limited: "rate_limited",
  not_configured: "unavailable",
  unavailable: "unavailable",
  timeout: "unavailable",
};

function send(c: Context, { status, headers = {}, body }: RouteResponse): Response {
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  c.header("X-Content-Type-Options", "nosniff");
  if (status === 204 || status === 205) return c.body(null, status);
  return c.json(body as object, status as ContentfulStatusCode);
}
