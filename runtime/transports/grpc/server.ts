import http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { Code, ConnectError, type ConnectRouter, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Problem } from "@signalbox/schema/problem";
import { type BodyBudget, boundedBody } from "../http/body.ts";
import { isAuthority } from "../http/cross-site.ts";
import { refuseCostly } from "../http/request.ts";
import { fromProblem } from "./errors.ts";
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
  /** For the bodies of calls. Default: any number of bytes. */
  readonly budget?: BodyBudget;
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
  const handler = adapter(options.budget, {
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
export function connectHandler(
  options: Pick<GrpcOptions, "routes" | "addressOf" | "budget"> & {
    readonly fallback: NodeHandler;
    readonly shutdownSignal?: AbortSignal;
  },
): NodeHandler {
  const { routes, fallback, shutdownSignal } = options;
  const contextValues = valuesOf(shutdownSignal, options.addressOf);
  return adapter(options.budget, { routes, fallback, contextValues, ...(shutdownSignal && { shutdownSignal }) });
}

/**
 * Connect's adapter, which reads the body of a call before anyone is asked who makes it: within the budget for bodies, and in
 * their time. It throws for a request that names no host.
 */
function adapter(budget: BodyBudget | undefined, options: Parameters<typeof connectNodeAdapter>[0]): NodeHandler {
  const bounded = new Set<string>();
  const handler = connectNodeAdapter({
    ...options,
    readMaxBytes,
    routes: (router) => {
      options.routes(router);
      const calls = router.handlers.filter(({ method }) => method.methodKind !== "bidi_streaming");
      for (const { requestPath } of calls) bounded.add(requestPath);
    },
  });
  return (request, response) => {
    const { ":authority": authority, host = authority } = request.headers;
    if (!isAuthority(String(host ?? ""))) {
      request.resume();
      response.writeHead(400);
      return void response.end();
    }
    if (budget && bounded.has(request.url?.split("?", 1)[0] ?? "")) {
      const read = () => boundedBody(request, response, budget);
      const body = () => asConnectErrors(isJsonCall(request) ? fewValues(read()) : read());
      Object.defineProperty(request, Symbol.asyncIterator, { value: body });
    }
    return handler(request, response);
  };
}

const isJsonCall = ({ headers }: NodeRequest): boolean => /json/i.test(headers["content-type"] ?? "");

/**
 * A JSON body in one piece, refused if it would take long to parse or to validate. gRPC and streams put five bytes before it. The
 * adapter refuses a body that is too large.
 */
async function* fewValues(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size <= readMaxBytes) continue;
    yield Buffer.concat(chunks);
    chunks = [];
  }
  const bytes = Buffer.concat(chunks);
  if (size <= readMaxBytes) refuseCostly(bytes[0] === 0 ? bytes.subarray(5) : bytes);
  yield bytes;
}

async function* asConnectErrors<T>(body: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* body;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const fault = fromProblem(error);
    // The call may be sent again, which FAILED_PRECONDITION denies.
    throw error.code === "unavailable" ? new ConnectError(error.message, Code.Unavailable, fault.metadata) : fault;
  }
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
