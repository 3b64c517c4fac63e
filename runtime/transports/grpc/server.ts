import http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Log } from "../../platform/log.ts";
import { safeHeaders } from "../http/client-error.ts";
import type { Calls, ConnectOptions, GrpcOptions, NodeHandler } from "./calls.ts";

export interface GrpcServer {
  readonly port: number;
  /** Refuses new calls, ends streams, lets running calls finish for `limitMs`, then breaks the remaining connections. */
  close(limitMs?: number): Promise<void>;
}

/** Native gRPC, gRPC-Web and Connect over HTTP/2, with the standard health and reflection services. */
export async function startGrpc(options: GrpcOptions): Promise<GrpcServer> {
  const calls = atFirstCall(async () => (await import("./adapter.ts")).grpcCalls(options), options.log);
  const settings = { maxConcurrentStreams: 1_000 };
  // Browsers support HTTP/2, and can read responses in JSON.
  const handle: NodeHandler = (request, response) => {
    for (const [name, value] of safeHeaders) response.setHeader(name, value);
    calls.handle(request, response);
  };
  const server = options.tls
    ? http2.createSecureServer({ ...options.tls, settings, allowHTTP1: true }, handle)
    : http2.createServer({ settings }, handle);
  const sessions = keepSessions(server, options.keepAliveMs ?? 30_000);
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    async close(limitMs = 10_000) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const made = await calls.made();
      made?.stop();
      for (const session of sessions.open) session.close();
      const drained = await Promise.race([sessions.ended().then(() => true), after(limitMs)]);
      if (!drained) made?.shutDown();
      sessions.breakAll();
      await closed;
    },
  };
}

/** The same routes on another HTTP server, including HTTP/1.1. Other requests are passed to `fallback`. */
export function connectHandler(options: ConnectOptions): NodeHandler {
  const calls = atFirstCall(async () => (await import("./adapter.ts")).connectCalls(options), options.log);
  return (request, response) => (isCall(request.url ?? "") ? calls.handle : options.fallback)(request, response);
}

/** `/package.Service/Method`. No other path has a dot in its first segment and a second segment. */
const isCall = (target: string): boolean => /^\/[^/?]*\.[^/?]*\//.test(target);

/**
 * Loading the descriptors and codecs of all operations, and the packages for them, takes a tenth of the service's start. Most
 * services receive no gRPC calls.
 */
function atFirstCall<T extends Calls>(make: () => Promise<T>, log: Log) {
  let making: Promise<T> | undefined;
  let made: T | undefined;
  const handle: NodeHandler = (request, response) => {
    if (made) return made.handle(request, response);
    making ??= make().catch((error) => {
      making = undefined;
      log.error("failed to prepare gRPC; the next call tries again", { error });
      throw error;
    });
    making.then(
      (calls) => {
        made = calls;
        if (!response.destroyed) calls.handle(request, response);
      },
      () => {
        request.resume();
        response.writeHead(500);
        response.end();
      },
    );
  };
  return { handle, made: async () => making?.catch(() => undefined) };
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

/** Tracks the open connections, and closes those whose peer does not respond to a ping. */
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
      // A session that is closing keeps its socket until the peer closes it too, even after it is destroyed.
      for (const socket of sockets) socket.destroy();
    },
  };
}

const after = (ms: number): Promise<false> => new Promise((resolve) => setTimeout(resolve, ms, false).unref());
