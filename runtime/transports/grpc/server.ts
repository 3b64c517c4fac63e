import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { Code } from "@connectrpc/connect";
import { raceTimeout } from "../../platform/abortable.ts";
import type { Log } from "../../platform/log.ts";
import { safeHeaders } from "../http/client-error.ts";
import { admitPipelined } from "../http/pipelining.ts";
import type { Calls, ConnectOptions, GrpcOptions, NodeHandler, NodeRequest } from "./calls.ts";
import { inTurns, keepSessions } from "./sessions.ts";

interface GrpcServer {
  readonly port: number;
  /** Refuses new calls, ends streams, lets running calls finish for `limitMs`, then breaks the remaining connections. */
  close(limitMs?: number): Promise<void>;
}

/** Native gRPC, gRPC-Web and Connect over HTTP/2, with the standard health and reflection services. */
export async function startGrpc(options: GrpcOptions): Promise<GrpcServer> {
  const calls = atFirstCall(async () => (await import("./adapter.ts")).grpcCalls(options), options.log);
  const settings = { maxConcurrentStreams: 250 };
  // A client that withdraws this many calls at once, and then more of them per second, is disconnected.
  const resets = { streamResetBurst: 250, streamResetRate: 50 };
  const begin = inTurns((request, response) => calls.handle(request, response));
  // Browsers support HTTP/2, and can read responses in JSON.
  const handle: NodeHandler = (request, response) => {
    if (!("stream" in response) && !admitPipelined(request.socket, response)) return;
    for (const [name, value] of safeHeaders) response.setHeader(name, value);
    if ("stream" in response && sessions.isExcess(response.stream)) return refuseWatch(request, response);
    begin(request, response);
  };
  const server = options.tls
    ? http2.createSecureServer({ ...options.tls, ...resets, settings, allowHTTP1: true, handshakeTimeout: 20_000 }, handle)
    : http2.createServer({ ...resets, settings }, handle);
  const { keepAliveMs = 30_000, idleMs = 300_000, closeMs = 10_000, maxSessions = 1_000 } = options;
  const sessions = keepSessions(server, { keepAliveMs, idleMs, closeMs, maxConnections: maxSessions });
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    async close(limitMs = 10_000) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const loaded = await calls.made();
      loaded?.stop();
      for (const session of sessions.open.keys()) session.close();
      const whenDrained = sessions.whenEnded().then(() => true);
      const isDrained = await raceTimeout(whenDrained, limitMs, false);
      if (!isDrained) loaded?.shutDown();
      sessions.breakAll();
      await closed;
    },
  };
}

/** An answer without messages, whose headers contain the status. */
function refuseWatch(request: NodeRequest, response: Parameters<NodeHandler>[1]): void {
  request.resume();
  const message = "Too many streams of this method are open on this connection";
  response.writeHead(200, { "content-type": "application/grpc", "grpc-status": Code.ResourceExhausted, "grpc-message": message });
  response.end();
}

/** The same routes on another HTTP server, including HTTP/1.1. Other requests are passed to `fallback`. */
export function connectHandler(options: ConnectOptions): NodeHandler {
  const calls = atFirstCall(async () => (await import("./adapter.ts")).connectCalls(options), options.log);
  return (request, response) => (isCall(request.url ?? "") ? calls.handle : options.fallback)(request, response);
}

/** `/package.Service/Method`. No other path has a dot in its first segment and a second segment. */
const isCall = (target: string): boolean => /^\/[^/?.]*\.[^/?]*\//.test(target);

/**
 * Loading the descriptors and codecs of all operations, and the packages for them, takes a tenth of the service's start. Most
 * services receive no gRPC calls.
 */
function atFirstCall<T extends Calls>(make: () => Promise<T>, log: Log) {
  let creation: Promise<T> | undefined;
  let loaded: T | undefined;
  const handle: NodeHandler = (request, response) => {
    if (loaded) return loaded.handle(request, response);
    creation ??= make().catch((error) => {
      creation = undefined;
      log.error("failed to prepare gRPC; the next call tries again", { error });
      throw error;
    });
    creation.then(
      (calls) => {
        loaded = calls;
        if (!response.destroyed) calls.handle(request, response);
      },
      () => {
        request.resume();
        response.writeHead(500);
        response.end();
      },
    );
  };
  return { handle, made: async () => creation?.catch(() => undefined) };
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
