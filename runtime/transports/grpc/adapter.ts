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
import type { AddressOf, Calls, ConnectOptions, GrpcOptions, NodeHandler, NodeRequest, Routes } from "./server.ts";
import { Health } from "./well-known.ts";

/** Maximum size of a request message, in bytes: the default of gRPC servers. Page limits bound the size of responses. */
const readMaxBytes = 4 * 1024 * 1024;

interface GrpcCalls extends Calls {
  /** Refuses new calls and ends streams. */
  stop(): void;
  /** Aborts the calls that still run. */
  shutDown(): void;
}

/** All routes, and the standard health and reflection services. */
export async function grpcCalls(options: GrpcOptions): Promise<GrpcCalls> {
  const stopping = new AbortController();
  const shutdown = new AbortController();
  const routes = await options.routes();
  const handle = adapter(options.budget, {
    shutdownSignal: shutdown.signal,
    contextValues: valuesOf(stopping.signal, options.addressOf),
    routes: (router) => allRoutes(router, routes, options, stopping.signal),
  });
  return {
    handle,
    stop: () => stopping.abort(stopped()),
    shutDown: () => shutdown.abort(new ConnectError("The server has stopped", Code.Unavailable)),
  };
}

export async function connectCalls(options: ConnectOptions): Promise<Calls> {
  const { fallback, shutdownSignal } = options;
  const contextValues = valuesOf(shutdownSignal, options.addressOf);
  const routes = await options.routes();
  return { handle: adapter(options.budget, { routes, fallback, contextValues, ...(shutdownSignal && { shutdownSignal }) }) };
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

function allRoutes(router: ConnectRouter, routes: Routes, options: GrpcOptions, stopping: AbortSignal): void {
  routes(router);
  const services = [...new Set(router.handlers.map(({ service }) => service)), Health];
  healthRoutes(router, {
    services: new Set(services.map(({ typeName }) => typeName)),
    ready: options.ready ?? (() => true),
    stopping,
    everyMs: options.healthEveryMs ?? 5_000,
  });
  reflectionRoutes(router, services, stopping);
}
