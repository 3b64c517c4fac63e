import http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { Code, ConnectError, type ConnectRouter, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { healthRoutes } from "./health.ts";
import { reflectionRoutes } from "./reflection.ts";
import { addressKey, stopped, stoppingKey } from "./routes.ts";
import { Health } from "./well-known.ts";

type Routes = (router: ConnectRouter) => void;
export type NodeHandler = ReturnType<typeof connectNodeAdapter>;
type NodeRequest = Parameters<NodeHandler>[0];
/** The address that a request came from; `null` if unknown. */
export type AddressOf = (request: NodeRequest) => string | null;

/** Requests only: 4 MiB each, what gRPC servers take by default. Answers are bounded by the page limits. */
const readMaxBytes = 4 * 1024 * 1024;

export interface GrpcOptions {
  readonly routes: Routes;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** PEM texts. Absent: h2c, HTTP/2 without TLS. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** Whether the service can serve, for the health service. */
  readonly ready?: () => boolean | Promise<boolean>;
  /** Default: `null` for every request. */
  readonly addressOf?: AddressOf;
  /** A connection that does not answer a ping within this time is dead; milliseconds. */
  readonly keepAliveMs?: number;
  readonly healthEveryMs?: number;
}

export interface GrpcServer {
  readonly port: number;
  /** Refuses new calls, ends streams, lets running calls finish for `limitMs`, then breaks the remaining connections. */
  close(limitMs?: number): Promise<void>;
}

/** Native gRPC, gRPC-Web and Connect over HTTP/2, with the standard health and reflection services. */
export async function startGrpc(options: GrpcOptions): Promise<GrpcServer> {
  const stopping = new AbortController();
  const shutdown = new AbortController();
  const handler = connectNodeAdapter({
    readMaxBytes,
    shutdownSignal: shutdown.signal,
    contextValues: valuesOf(stopping.signal, options.addressOf),
    routes: (router) => allRoutes(router, options, stopping.signal),
  });
  const settings = { maxConcurrentStreams: 1_000 };
  const server = options.tls
    ? http2.createSecureServer({ ...options.tls, settings, allowHTTP1: true }, handler)
    : http2.createServer({ settings }, handler);
  const sessions = keepSessions(server, options.keepAliveMs ?? 30_000);
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    async close(limitMs = 10_000) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      stopping.abort(stopped());
      for (const session of sessions.open) session.close();
      const drained = await Promise.race([sessions.ended().then(() => true), after(limitMs)]);
      if (!drained) shutdown.abort(new ConnectError("The server has stopped", Code.Unavailable));
      sessions.breakAll();
      await closed;
    },
  };
}

/** The same routes on another HTTP server, including HTTP/1.1. Other requests go to `fallback`. */
export function connectHandler(options: {
  readonly routes: Routes;
  readonly fallback: NodeHandler;
  readonly shutdownSignal?: AbortSignal;
  readonly addressOf?: AddressOf;
}): NodeHandler {
  const { shutdownSignal } = options;
  return connectNodeAdapter({
    routes: options.routes,
    fallback: options.fallback,
    readMaxBytes,
    contextValues: valuesOf(shutdownSignal, options.addressOf),
    ...(shutdownSignal && { shutdownSignal }),
  });
}

const valuesOf = (stopping: AbortSignal | undefined, addressOf: AddressOf | undefined) => (request: NodeRequest) =>
  createContextValues()
    .set(stoppingKey, stopping)
    .set(addressKey, () => addressOf?.(request) ?? null);

function allRoutes(router: ConnectRouter, options: GrpcOptions, stopping: AbortSignal): void {
  options.routes(router);
  const services = [...new Set(router.handlers.map(({ service }) => service)), Health];
  healthRoutes(router, {
    services: new Set(services.map(({ typeName }) => typeName)),
    ready: options.ready ?? (() => true),
    stopping,
    everyMs: options.healthEveryMs ?? 5_000,
  });
  reflectionRoutes(router, services, stopping);
}

function listen(server: http2.Http2Server | http2.Http2SecureServer, { host, port }: GrpcOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Tracks the open connections, and closes those whose peer does not answer a ping. */
function keepSessions(server: http2.Http2Server | http2.Http2SecureServer, keepAliveMs: number) {
  const open = new Set<http2.ServerHttp2Session>();
  const sockets = new Set<Socket>();
  const silent = new WeakSet<http2.ServerHttp2Session>();
  const ended = Promise.withResolvers<void>();
  let ending = false;
  const endIfEmpty = () => {
    if (ending && open.size === 0) ended.resolve();
  };
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("session", (session: http2.ServerHttp2Session) => {
    open.add(session);
    session.on("error", () => session.destroy());
    session.once("close", () => {
      open.delete(session);
      endIfEmpty();
    });
  });
  const timer = setInterval(() => {
    for (const session of open) {
      if (silent.has(session)) session.destroy();
      else if (!session.destroyed) {
        silent.add(session);
        session.ping((error) => !error && silent.delete(session));
      }
    }
  }, keepAliveMs);
  timer.unref();
  return {
    open,
    ended() {
      ending = true;
      endIfEmpty();
      return ended.promise;
    },
    breakAll() {
      clearInterval(timer);
      for (const session of open) session.destroy();
      // A session that was asked to close keeps its socket until the peer closes it too, also when it is destroyed.
      for (const socket of sockets) socket.destroy();
    },
  };
}

const after = (ms: number): Promise<false> => new Promise((resolve) => setTimeout(resolve, ms, false).unref());
