import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Problem } from "@signalbox/schema/problem";
import { type BodyBudget, boundedBody } from "../http/body.ts";
import { isAuthority } from "../http/cross-site.ts";
import type { AddressOf, Calls, ConnectOptions, GrpcOptions, NodeHandler, NodeRequest, NodeResponse, Routes } from "./calls.ts";
import { fromProblem } from "./errors.ts";
import { healthRoutes } from "./health.ts";
import { reflectionRoutes } from "./reflection.ts";
import { refuseCostlyCall } from "./refuse-costly.ts";
import { addressKey, stoppingError, stoppingKey } from "./routes.ts";
import { refuseUnknownCall } from "./unknown-call.ts";
import { Health } from "./well-known.ts";

/**
 * Maximum size of a request message, in bytes: the default of gRPC servers. The size of responses is limited by the size of
 * pages.
 */
const readMaxBytes = 4 * 1024 * 1024;

interface GrpcCalls extends Calls {
  /** Refuses new calls and ends streams. */
  stop(): void;
  /** Aborts the running calls. */
  shutDown(): void;
}

/** All routes, and the standard health and reflection services. */
export async function grpcCalls(options: GrpcOptions): Promise<GrpcCalls> {
  const stopController = new AbortController();
  const shutdown = new AbortController();
  const routes = await options.routes();
  const handle = adapter(options.budget, {
    shutdownSignal: shutdown.signal,
    contextValues: valuesOf(stopController.signal, options.addressOf),
    routes: (router) => allRoutes(router, routes, options, stopController.signal),
  });
  return {
    handle,
    stop: () => stopController.abort(stoppingError()),
    shutDown: () => shutdown.abort(new ConnectError("The server has stopped", Code.Unavailable)),
  };
}

export async function connectCalls(options: ConnectOptions): Promise<Calls> {
  const { fallback, stopSignal } = options;
  const contextValues = valuesOf(stopSignal, options.addressOf);
  const routes = await options.routes();
  return { handle: adapter(options.budget, { routes, fallback, contextValues }) };
}

/**
 * Connect's adapter reads the body of a call before its caller is authenticated, so bodies count in the budget and have a time
 * limit. It throws for a request without a host.
 */
function adapter(budget: BodyBudget | undefined, options: Parameters<typeof connectNodeAdapter>[0]): NodeHandler {
  const types = new Map<string, DescMessage>();
  const handlers: ConnectRouter["handlers"] = [];
  const handler = connectNodeAdapter({
    ...options,
    readMaxBytes,
    fallback: options.fallback ?? refuseUnknownCall(handlers),
    routes: (router) => {
      options.routes(router);
      handlers.push(...router.handlers);
      const calls = router.handlers.filter(({ method }) => /^(unary|server_streaming)$/.test(method.methodKind));
      for (const { requestPath, method } of calls) types.set(requestPath, method.input);
    },
  });
  return (request, response) => {
    const { ":authority": authority, host = authority } = request.headers;
    if (!isAuthority(String(host ?? ""))) {
      request.resume();
      response.writeHead(400);
      return void response.end();
    }
    const type = types.get(request.url?.split("?", 1)[0] ?? "");
    if (type && options.fallback && !isReadable(request)) return refuseUnreadable(request, response);
    removeEndlessDeadline(request.headers);
    if (budget && type) {
      const sent = { headers: request.headers, type, maxBytes: readMaxBytes };
      const body = () => asConnectErrors(refuseCostlyCall(boundedBody(request, response, budget), sent));
      Object.defineProperty(request, Symbol.asyncIterator, { value: body });
    }
    return handler(request, response);
  };
}

const readable = /^application\/(?:json|proto|connect|grpc)/i;
const isReadable = ({ method, headers }: NodeRequest): boolean =>
  method !== "POST" || readable.test(headers["content-type"] ?? "");

/** On the port of the HTTP API, with an error in its form; Connect's has none. */
function refuseUnreadable(request: NodeRequest, response: NodeResponse): void {
  const type = request.headers["content-type"];
  const was = type ? `it is ${JSON.stringify(type.slice(0, 100))}` : "there is none";
  request.resume();
  response.writeHead(415, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: `Content-Type must be application/json or application/proto; ${was}.` }));
}

/** A timer that is longer would end at once. In milliseconds: 25 days. */
const longestTimerMs = 2 ** 31 - 1;
const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1 };

/** A call whose deadline is later than any timer is one without a deadline. */
function removeEndlessDeadline(headers: NodeRequest["headers"]): void {
  const [, count = "", unit = ""] = /^(\d{1,8})([HMSm])$/.exec(String(headers["grpc-timeout"] ?? "")) ?? [];
  if (Number(count) * (unitMs[unit] ?? 0) > longestTimerMs) delete headers["grpc-timeout"];
  const connectMs = String(headers["connect-timeout-ms"] ?? "");
  if (/^\d{1,10}$/.test(connectMs) && Number(connectMs) > longestTimerMs) delete headers["connect-timeout-ms"];
}

async function* asConnectErrors<T>(body: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* body;
  } catch (error) {
    throw error instanceof Problem ? fromProblem(error) : error;
  }
}

const valuesOf = (stopSignal: AbortSignal | undefined, addressOf: AddressOf | undefined) => (request: NodeRequest) =>
  createContextValues()
    .set(stoppingKey, stopSignal)
    .set(addressKey, () => addressOf?.(request) ?? null);

function allRoutes(router: ConnectRouter, routes: Routes, options: GrpcOptions, stopSignal: AbortSignal): void {
  routes(router);
  const services = [...new Set(router.handlers.map(({ service }) => service)), Health];
  healthRoutes(router, {
    services: new Set(services.map(({ typeName }) => typeName)),
    ready: options.ready ?? (() => true),
    stopSignal,
    everyMs: options.healthEveryMs ?? 5_000,
  });
  reflectionRoutes(router, services, stopSignal);
}
