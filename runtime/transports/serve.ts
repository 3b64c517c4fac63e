import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { get as health } from "@signalbox/schema/health";
import { problem } from "@signalbox/schema/problem";
import { type Config, ConfigError, StartError } from "../platform/config.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import type { Exposure } from "../platform/network/exposure.ts";
import { parseNetworks } from "../platform/network/networks.ts";
import type { Bound } from "../platform/operation.ts";
import { version } from "../platform/version.ts";
import type { RouteEntry } from "../plugins/host.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { Receiver } from "../webhooks/receive.ts";
import { grpcRoutes } from "./grpc/routes.ts";
import { connectHandler, type NodeHandler, startGrpc } from "./grpc/server.ts";
import { createApp, type HttpOptions, refuse } from "./http/app.ts";
import type { Authenticate } from "./http/authenticate.ts";
import { answerClientErrors } from "./http/client-error.ts";
import { crossSite } from "./http/cross-site.ts";
import { mountDocs } from "./http/docs.ts";
import { mountPluginRoutes } from "./http/plugin-routes.ts";
import { mountWebhooks } from "./http/webhook.ts";
import { mountMcp } from "./mcp/mount.ts";

export interface ServeOptions {
  readonly config: Config;
  readonly bound: readonly Bound[];
  readonly receiver: Receiver;
  readonly tools: Pick<ToolRegistry, "offered">;
  readonly pluginRoutes: ReadonlyMap<string, RouteEntry>;
  readonly sql: Sql;
  readonly log: Log;
  readonly authenticate: Authenticate;
  readonly exposure: Exposure;
  /** Whether there are no API keys, at this moment. */
  readonly keyring: { readonly open: boolean };
  /** Whether all that the service needs answers, for gRPC's health service. */
  readonly ready: () => Promise<boolean>;
}

/** Opens both ports on the projections of the same operations. */
export async function serve(serving: ServeOptions) {
  const { config, receiver, tools, pluginRoutes, sql, log, authenticate, exposure, keyring, ready } = serving;
  const worksOnly = config.SIGNALBOX_ROLE === "worker";
  const bound = worksOnly ? serving.bound.filter(({ op }) => op === health) : serving.bound;
  const options: HttpOptions = {
    ...{ bound, authenticate, log, version },
    // Most operations never look at the signal, and making one costs as much as the rest of a small request.
    context: (request, actor) => ({
      ...{ sql, log, actor },
      get signal() {
        return request.signal;
      },
    }),
    maxBodyBytes: config.MAX_BODY_BYTES,
  };
  const app = createApp(options);
  if (worksOnly) app.all("*", (c) => refuse(c, problem("unavailable", onlyWorks)));
  else {
    mountMcp(app, tools, options);
    mountPluginRoutes(app, pluginRoutes, options);
    mountWebhooks(app, receiver, { maxBytes: config.MAX_WEBHOOK_BYTES, trusted: parseNetworks(config.TRUSTED_PROXIES) });
    mountDocs(app);
  }

  const { hostname, local } = exposure;
  const routes = grpcRoutes(bound, { authenticate, sql, log });
  const shutdown = new AbortController();
  // On Node the lighter classes halve what a small answer costs; on Deno its own server would refuse them.
  const fallback = getRequestListener((request, env) => app.fetch(request, env as object), {
    overrideGlobalObjects: !("Deno" in globalThis),
  }) as NodeHandler;
  const handler = connectHandler({ routes, shutdownSignal: shutdown.signal, fallback });
  // Here, so that Connect and gRPC-Web are guarded too. The other port speaks HTTP/2 only: browsers want TLS for that, whose
  // certificate stops a rebound name, and its content types stop a page of another site.
  const http = createServer({ requireHostHeader: false }, (request, response) => {
    // Node itself would answer without a body, and refuse the HTTP/1.0 of a load balancer's probe, too.
    if (request.headers.host === undefined && request.httpVersion !== "1.0")
      return turnAway(request, response, 400, "Host: the header is missing; HTTP/1.1 requires it.");
    request.headers.host ??= "localhost";
    const reason = keyring.open ? crossSite({ path: request.url ?? "", headers: request.headers }, local) : null;
    if (reason === null) return handler(request, response);
    return turnAway(request, response, 403, reason);
  });
  answerClientErrors(http);
  const drain = drainOf(http);
  const listening = new Promise<void>((done, fail) => http.once("error", fail).listen(config.PORT, hostname, done));
  await listening.catch(cannotListen("PORT", config.PORT));
  const grpc = await startGrpc({ routes, host: hostname, port: config.GRPC_PORT, ready, ...tlsOf(config) }).catch(
    async (error) => {
      // The rest of what was opened is closed next: nothing may come in any more.
      await drain(0);
      return cannotListen("GRPC_PORT", config.GRPC_PORT)(error);
    },
  );
  const port = (http.address() as AddressInfo).port;
  log.info(`Signalbox ${version} listens on http://${hostname}:${port} (reference: /docs) and grpc://${hostname}:${grpc.port}`);
  announce(exposure, log);
  const close = async () => {
    const closed = drain(5_000);
    shutdown.abort();
    await Promise.all([closed, grpc.close()]);
  };
  return { port, grpcPort: grpc.port, close };
}

const onlyWorks = "This replica only runs executions (SIGNALBOX_ROLE is worker) and answers /health. Ask one that serves.";

/** A taken port, one that needs root, or an address that is not this machine's: the operator's to mend. */
const cannotListen = (variable: string, port: number) => (error: NodeJS.ErrnoException) => {
  if (error.syscall !== "listen" && error.syscall !== "getaddrinfo") throw error;
  throw new StartError(`${error.syscall === "listen" ? variable : "HOST"}: cannot listen on port ${port}: ${error.message}`);
};

/** What an operator must know about who may do what. */
function announce({ hostname, open, local }: Exposure, log: Log): void {
  const way = "make a key with `signalbox keys create`, or set API_KEYS";
  if (!open) return;
  if (local) log.info(`there are no API keys: the API is open, on this machine only; to serve others ${way}`);
  else log.warn(`there are no API keys and HOST is ${hostname}: whoever reaches this address may do everything; ${way}`);
}

function turnAway(request: IncomingMessage, response: ServerResponse, status: number, error: string): void {
  request.resume();
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }));
}

/**
 * Closes a server once the requests under way are answered, at the latest after `limitMs`. The server's own `close` also
 * waits for connections that nothing was asked on yet, which clients open in advance.
 */
function drainOf(server: Server): (limitMs: number) => Promise<void> {
  let underWay = 0;
  let closing = false;
  const closeIfIdle = () => {
    if (closing && underWay === 0) server.closeAllConnections();
  };
  server.on("request", (_, response) => {
    underWay++;
    response.once("close", () => {
      underWay--;
      closeIfIdle();
    });
  });
  return async (limitMs) => {
    closing = true;
    const closed = new Promise<void>((done) => server.close(() => done()));
    closeIfIdle();
    const timer = setTimeout(() => server.closeAllConnections(), limitMs);
    await closed;
    clearTimeout(timer);
  };
}

/** The certificate of the gRPC port, where both files are named. */
function tlsOf({ GRPC_TLS_CERT: cert, GRPC_TLS_KEY: key }: Config) {
  if (!cert && !key) return {};
  if (!cert || !key) throw new ConfigError("GRPC_TLS_CERT and GRPC_TLS_KEY: set both or neither");
  try {
    return { tls: { cert: readFileSync(cert), key: readFileSync(key) } };
  } catch (error) {
    throw new ConfigError(`GRPC_TLS_CERT and GRPC_TLS_KEY: ${error instanceof Error ? error.message : error}`);
  }
}
