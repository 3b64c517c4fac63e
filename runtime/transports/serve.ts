import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { get as health } from "@signalbox/schema/health";
import { problem } from "@signalbox/schema/problem";
import { type Config, StartError } from "../platform/config.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log, Report } from "../platform/log.ts";
import { clientAddress } from "../platform/network/client-address.ts";
import type { Exposure } from "../platform/network/exposure.ts";
import { type Networks, parseNetworks } from "../platform/network/networks.ts";
import { type Actor, type BoundOperation, type Context, requestIdOf } from "../platform/operation.ts";
import { version } from "../platform/version.ts";
import type { RouteEntry } from "../plugins/host.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { Receiver } from "../webhooks/receive.ts";
import type { AddressOf, NodeHandler, Routes } from "./grpc/calls.ts";
import type { GrpcContext } from "./grpc/routes.ts";
import { connectHandler, startGrpc } from "./grpc/server.ts";
import { tlsOf } from "./grpc/tls.ts";
import { createApp, type HttpOptions, refuse } from "./http/app.ts";
import type { Authenticate } from "./http/authenticate.ts";
import { BodyBudget } from "./http/body.ts";
import { answerClientErrors, listenerOptions, safeHeaders } from "./http/client-error.ts";
import { drainOf, limitConnections } from "./http/connections.ts";
import { mountConsole } from "./http/console.ts";
import { ambiguousHost, crossSite } from "./http/cross-site.ts";
import { mountDocs } from "./http/docs.ts";
import { mountMetrics } from "./http/metrics.ts";
import { admitPipelined } from "./http/pipelining.ts";
import { mountPluginRoutes } from "./http/plugin-routes.ts";
import { type ConsoleSessions, mountSession } from "./http/session.ts";
import { mountWebhooks } from "./http/webhook.ts";
import { mountMcp } from "./mcp/mount.ts";

interface ServeOptions {
  readonly config: Config;
  readonly operations: readonly BoundOperation[];
  readonly receiver: Receiver;
  readonly tools: Pick<ToolRegistry, "eligibleTools">;
  readonly pluginRoutes: ReadonlyMap<string, RouteEntry>;
  readonly sql: Sql;
  readonly log: Log;
  readonly alarm: Report;
  readonly authenticate: Authenticate;
  /** Logins of the console, and how long they last. */
  readonly sessions: ConsoleSessions & { readonly seconds: number };
  readonly exposure: Exposure;
  /** Whether there are no API keys at this moment. */
  readonly keyring: { readonly open: boolean };
  /** Updates the values of `GET /metrics`. */
  readonly metrics: () => Promise<void>;
  /** Whether all parts that the service needs respond, for gRPC's health service. */
  readonly ready: () => Promise<boolean>;
}

/** A class, because V8 takes several microseconds for an object literal with getters. */
class RequestContext implements Context {
  readonly sql: Sql;
  readonly log: Log;
  readonly actor: Actor;
  readonly request: Request;
  constructor({ sql, log }: Pick<Context, "sql" | "log">, request: Request, actor: Actor) {
    this.sql = sql;
    this.log = log;
    this.actor = actor;
    this.request = request;
  }
  // Created lazily: few operations read the signal, and creating one costs as much as the rest of a small request.
  get signal() {
    return this.request.signal;
  }
  get last_event_id() {
    return this.request.headers.get("last-event-id")?.slice(0, 100);
  }
  get request_id() {
    return requestIdOf(this.request.headers);
  }
}

/** Opens both ports, which offer the same operations. Returns how to close them. */
export async function serve(serveOptions: ServeOptions) {
  const { config, sql, log, alarm, authenticate, exposure, keyring, ready } = serveOptions;
  const worksOnly = config.SIGNALBOX_ROLE === "worker";
  const budget = new BodyBudget(config.MAX_INFLIGHT_BODY_BYTES);
  const publicUrl = config.PUBLIC_URL === undefined ? null : new URL(config.PUBLIC_URL);
  const prefix = publicUrl?.pathname.replace(/\/+$/, "") ?? "";
  const trustedProxies = parseNetworks(config.TRUSTED_PROXIES);
  const addressOf: AddressOf = ({ socket, headers }) =>
    clientAddress(socket.remoteAddress, [headers["x-forwarded-for"] ?? []].flat().join(","), trustedProxies);
  const stopping = new AbortController();
  const operations = worksOnly ? serveOptions.operations.filter(({ op }) => op === health) : serveOptions.operations;
  const options: HttpOptions = {
    operations,
    authenticate,
    log,
    version,
    context: (request, actor) => new RequestContext({ sql, log }, request, actor),
    maxBodyBytes: largestOf(config, "MAX_BODY_BYTES"),
    budget,
    publicUrl,
    trustedProxies,
    stopping: stopping.signal,
  };
  const app = createApp(options);
  mountMetrics(app, { authenticate, open: config.METRICS_OPEN, refresh: serveOptions.metrics });
  if (worksOnly) app.all("*", (c) => refuse(c, problem("unavailable", onlyWorks)));
  else mountDoors(app, serveOptions, { ...options, budget, publicUrl, trustedProxies });

  const { hostname } = exposure;
  const fallback = getRequestListener((request, env) => app.fetch(request, env as object), listenerOptions(alarm)) as NodeHandler;
  const rpc = { routes: routesOf(operations, { authenticate, sql, log }), addressOf, budget, log };
  const handler = connectHandler({ ...rpc, stopSignal: stopping.signal, fallback });
  const allowedHosts = new Set(config.ALLOWED_HOSTS);
  // Checked here, so that Connect and gRPC-Web are protected too. The other port supports only HTTP/2, which browsers use only
  // over TLS: its certificate stops a rebound name, and its content types stop a page of another site.
  const http = createServer({ ...timeouts, ...probes, requireHostHeader: false }, (request, response) => {
    if (!admitPipelined(request.socket, response)) return;
    for (const [name, value] of safeHeaders) response.setHeader(name, value);
    // A proxy may forward its own path.
    if (prefix !== "" && request.url?.startsWith(`${prefix}/`)) request.url = request.url.slice(prefix.length);
    const { headers, rawHeaders, method = "", url: target = "" } = request;
    // Node itself would respond without a body, and refuse the HTTP/1.0 request of a load balancer's probe, too.
    if (headers.host === undefined && request.httpVersion !== "1.0")
      return reject(request, response, 400, "Host: the header is missing; HTTP/1.1 requires it.");
    const ambiguous = ambiguousHost(target, rawHeaders);
    if (ambiguous !== null) return reject(request, response, 400, ambiguous);
    headers.host ??= "localhost";
    const refused = keyring.open ? crossSite({ method, target, headers }, allowedHosts) : null;
    if (refused !== null) return reject(request, response, 403, refused);
    return handler(request, response);
  });
  answerClientErrors(http, { unusedMs: timeouts.keepAliveTimeout - timeouts.headersTimeout });
  limitConnections(http, config.MAX_CONNECTIONS);
  const drain = drainOf(http);
  const listening = new Promise<void>((done, fail) => http.once("error", fail).listen(config.PORT, hostname, done));
  await listening.catch(cannotListen("PORT", config.PORT));
  const grpc = await startGrpc({ ...rpc, host: hostname, port: config.GRPC_PORT, ready, ...tlsOf(config) }).catch(
    async (error) => {
      // The caller closes the other parts next, so no further request may arrive.
      await drain(0);
      return cannotListen("GRPC_PORT", config.GRPC_PORT)(error);
    },
  );
  const { port } = http.address() as AddressInfo;
  const host = isIPv6(hostname) ? `[${hostname}]` : hostname;
  log.info(`Signalbox ${version} listens on http://${host}:${port} ${pages} and grpc://${host}:${grpc.port}`);
  announce(exposure, log);
  return async () => {
    const closed = drain(5_000);
    stopping.abort(problem("unavailable", "The service is stopping; connect again.", { retryAfter: 1 }));
    await Promise.all([closed, grpc.close()]);
  };
}

/** What a browser finds at the address. */
const pages = "(console: /, reference: /docs)";

/** The gRPC routes, created once for both ports. */
function routesOf(operations: readonly BoundOperation[], context: GrpcContext): () => Promise<Routes> {
  let routes: Promise<Routes> | undefined;
  const make = async () => (await import("./grpc/routes.ts")).grpcRoutes(operations, context);
  return () => {
    routes ??= make().catch((error) => {
      // The next call tries again.
      routes = undefined;
      throw error;
    });
    return routes;
  };
}

interface Doors extends HttpOptions {
  readonly budget: BodyBudget;
  readonly publicUrl: URL | null;
  readonly trustedProxies: Networks;
}

/** Everything that is available over HTTP in addition to the operations. */
function mountDoors(app: OpenAPIHono, { config, receiver, tools, pluginRoutes, sessions }: ServeOptions, options: Doors): void {
  const { authenticate, budget, publicUrl, trustedProxies, log } = options;
  mountMcp(app, tools, options);
  mountPluginRoutes(app, pluginRoutes, options);
  const limits = { maxBytes: largestOf(config, "MAX_WEBHOOK_BYTES"), maxUncheckedBytes: config.MAX_UNCHECKED_WEBHOOK_BYTES };
  mountWebhooks(app, receiver, { ...limits, budget, trustedProxies });
  mountDocs(app);
  const bodies = { maxBytes: options.maxBodyBytes, budget };
  mountSession(app, { sessions, authenticate, publicUrl, limits: bodies, version, seconds: sessions.seconds });
  mountConsole(app, { publicUrl, version, log });
}

/** A body that exceeds the budget of all bodies would be refused at every try, with the advice to send it again. */
const largestOf = (config: Config, limit: "MAX_BODY_BYTES" | "MAX_WEBHOOK_BYTES"): number =>
  Math.min(config[limit], config.MAX_INFLIGHT_BODY_BYTES);

/**
 * A body has 30 s, see `body.ts`. These limits also end a sender with slow headers, or with a slow body that was refused. An idle or
 * unused connection stays open for longer than the 60 s of common proxies: with Node's 5 s, the service may close it while a proxy sends a
 * webhook, which would be lost with a 502.
 */
const timeouts = { headersTimeout: 20_000, requestTimeout: 40_000, keepAliveTimeout: 75_000, connectionsCheckingInterval: 5_000 };

/**
 * The system asks clients of silent connections whether they are still there. Otherwise, a stream of tasks over HTTP/1.1 whose client has
 * vanished would stay open, and receive tasks. Routers also forget silent connections after a few minutes.
 */
const probes = { keepAlive: true, keepAliveInitialDelay: 30_000 };

const onlyWorks =
  "This replica only runs executions (SIGNALBOX_ROLE is worker) and answers /health. Call a replica with the role all or api.";

/** The port is in use or requires root, or the address belongs to another machine: the operator must change the setting. */
const cannotListen = (variable: string, port: number) => (error: NodeJS.ErrnoException) => {
  if (error.syscall !== "listen" && error.syscall !== "getaddrinfo") throw error;
  // Deno answers EINVAL for the address of another machine.
  const isPort = error.syscall === "listen" && error.code !== "EADDRNOTAVAIL" && error.code !== "EINVAL";
  throw new StartError(`${isPort ? variable : "HOST"}: cannot listen on port ${port}: ${error.message}`);
};

/** Logs who has access to which operations. */
function announce({ hostname, open, local }: Exposure, log: Log): void {
  const advice = "create a key with `signalbox keys create`, or set API_KEYS";
  if (!open) return;
  if (local) log.info(`there are no API keys: the API is open, on this machine only; to serve others, ${advice}`);
  else log.warn(`there are no API keys and HOST is ${hostname}: anyone who can reach this address can do everything; ${advice}`);
}

function reject(request: IncomingMessage, response: ServerResponse, status: number, error: string): void {
  request.resume();
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }));
}
