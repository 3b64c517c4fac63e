import { OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import { httpRoute, type Operation } from "@signalbox/schema/operation";
import { type ProblemCode, problems } from "@signalbox/schema/problem";
import { receive } from "@signalbox/schema/webhooks";
import type { BoundOperation } from "../../platform/operation.ts";
import { hasTrial, placesOf } from "./request.ts";

const errorBody = z.object({ error: z.string().describe("What is wrong, where, and what to do.") }).meta({ id: "Error" });

/**
 * Serves the OpenAPI document of all operations. It is created at the first request, because its schemas take a part of the start
 * that few installations need.
 */
export function describe(app: OpenAPIHono, operations: readonly BoundOperation[], version: string): void {
  let document: object | undefined;
  app.get("/openapi.json", (c) => {
    document ??= documentOf(operations, version);
    return c.json(document);
  });
}

export function documentOf(operations: readonly BoundOperation[], version: string) {
  const app = new OpenAPIHono();
  app.openAPIRegistry.registerComponent("securitySchemes", "apiKey", {
    type: "http",
    scheme: "bearer",
    description: "Required once an API key exists. The names next to it are the scopes that the key needs.",
  });
  const names = new Map<string, string[]>();
  for (const { op } of operations) {
    const { path, params } = httpRoute(op);
    const shape = path.replace(/:\w+/g, ":");
    // A document must not have two paths that differ only in the names of their parameters, so the first operation names them.
    if (!names.has(shape)) names.set(shape, params);
    app.openAPIRegistry.registerPath(pathOf(op, names.get(shape)));
  }
  app.openAPIRegistry.registerPath(doorPath());
  return app.getOpenAPI31Document(info(version));
}

const info = (version: string) => ({
  openapi: "3.1.0" as const,
  info: {
    title: "Signalbox",
    version,
    description: "Turns events from issue trackers and code hosts into AI-agent work, and posts the results back.",
    license: { name: "MIT", identifier: "MIT" },
  },
  servers: [{ url: "/" }],
});

/** `names`: names of the parameters in the path. */
function pathOf(op: Operation, names = httpRoute(op).params): RouteConfig {
  const { method, path, params } = httpRoute(op);
  const places = placesOf(op);
  const pick = (names: readonly string[]) =>
    z.object(Object.fromEntries(names.map((name) => [name, op.input.shape[name] as z.ZodType])));
  const security = op.scope === "open" ? [] : [{ apiKey: [op.scope] }, {}];
  return {
    method: method.toLowerCase() as "get",
    path: path.replace(/:(\w+)/g, (_, name: string) => `{${names[params.indexOf(name)]}}`),
    operationId: op.id,
    tags: [op.id.split(".")[0] as string],
    summary: op.summary,
    ...(op.description !== null && { description: op.description }),
    security,
    ...(op.rpc && { "x-grpc": `signalbox.api.v1.${op.rpc.replace(".", "/")}` }),
    request: {
      ...(places.params.length > 0 && {
        params: z.object(Object.fromEntries(params.map((name, i) => [names[i] as string, pathParameter(op, name)]))),
      }),
      ...(op.serverSentEvents && method === "GET" && { headers: z.object({ "Last-Event-ID": lastEventId }) }),
      ...(places.query.length > 0 && { query: pick(places.query) }),
      ...(places.body.length > 0 && {
        body: {
          required: places.bodyNeeded,
          content: { "application/json": { schema: hasTrial(op) ? pick(places.body).strict() : pick(places.body) } },
        },
      }),
    },
    responses: {
      ...failures(op, places),
      ...(op.alternateStatus && { [op.alternateStatus.status]: success(op) }),
      [op.status]: success(op),
    },
  };
}

const lastEventId = z
  .string()
  .optional()
  .describe("`id` of the last event that the reader received; it sends this when it reconnects.");

/** The operations of a resource call its id `id`, and most do not describe it. */
function pathParameter(op: Operation, name: string): z.ZodType {
  const schema = op.input.shape[name] as z.ZodType;
  const [plural = ""] = op.id.split(".");
  if (name !== "id" || schema.description !== undefined || !plural.endsWith("s")) return schema;
  return schema.describe(`Id of the ${plural.slice(0, -1).replaceAll("-", " ").replace(/^mcp/, "MCP")}.`);
}

/** The webhook endpoint. The whole body is the payload, with any Content-Type. */
function doorPath(): RouteConfig {
  const { payload } = receive.input.shape;
  const path = pathOf(receive);
  const { 415: _, ...responses } = path.responses;
  const body = { required: true, content: { "application/json": { schema: payload } } };
  return { ...path, request: { ...path.request, body }, responses };
}

function success(op: Operation): RouteConfig["responses"][string] {
  if (op.status === 204) return { description: "Done." };
  if (!op.paginated) {
    const events = op.serverSentEvents ? { "text/event-stream": { schema: op.serverSentEvents } } : {};
    // The caller of a GET has no member to request anything except events.
    if (op.serverSentEvents && httpRoute(op).method === "GET") return { description: "A stream of events.", content: events };
    return { description: "Done.", content: { "application/json": { schema: op.output }, ...events } };
  }
  const { items, next_cursor } = (op.output as z.ZodObject).shape as Record<string, z.ZodType>;
  const total = { "X-Total-Count": z.int().describe("Total number of items.") };
  return {
    description: "One page.",
    headers: z.object(next_cursor ? headersOfHistory : total),
    content: { "application/json": { schema: items as z.ZodType } },
  };
}

const headersOfHistory = {
  "X-Total-Count": z.string().describe("Total number of items; `10000+` if there are more than 10,000."),
  "X-Next-Cursor": z.string().optional().describe("Send it as `cursor` for the next page; absent on the last page."),
  Link: z.string().optional().describe('Address of the next page, with `rel="next"`; absent on the last page.'),
};

/** The problems with which an operation may respond, including those that follow from its shape. */
export function problemsOf(op: Operation, places = placesOf(op)): ProblemCode[] {
  const found = new Set<ProblemCode>(op.problems);
  if (places.params.length + places.query.length + places.body.length > 0) found.add("bad_request");
  if (places.body.length > 0) found.add("too_large").add("unsupported_media_type");
  if (op.scope !== "open") found.add("unauthenticated").add("forbidden");
  return [...found];
}

function failures(op: Operation, places: ReturnType<typeof placesOf>): RouteConfig["responses"] {
  const codes = problemsOf(op, places).sort((a, b) => problems[a].status - problems[b].status);
  const content = { "application/json": { schema: errorBody } };
  return Object.fromEntries(
    [...Map.groupBy(codes, (code) => problems[code].status)].map(([status, alike]) => [
      status,
      { description: alike.map((code) => `${problems[code].title}.`).join(" "), content },
    ]),
  );
}
