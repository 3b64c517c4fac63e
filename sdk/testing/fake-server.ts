import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { FaultInjector, isApplied } from "./fault-injector.ts";
import type { TrackerFault } from "./fixtures.ts";
import { parseBody } from "./json-body.ts";

/** A request that a fake server received. */
export interface RecordedRequest {
  readonly method: string;
  /** Percent-encoded path. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** Value of a JSON body, the text of any other, and `undefined` if there is none. */
  readonly body: unknown;
}
/** Response of a fake server. */
export interface FakeResponse {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the request changed the state of the server. */
  readonly wrote?: boolean;
}

/** The parts of msw that a fake server uses. Declared here, so that the SDK does not depend on msw. */
export interface Msw<Handler> {
  readonly http: { all(path: string, resolver: (info: { readonly request: Request }) => Promise<Response>): Handler };
  setupServer(...handlers: Handler[]): { listen(options: { onUnhandledRequest: "error" }): void; close(): void };
}

/** A fake HTTP server that records requests and injects faults. A subclass implements the routes and the state. */
export abstract class FakeServer {
  readonly requests: RecordedRequest[] = [];
  url = "";
  readonly #fault = new FaultInjector();
  #written = 0;
  #close = (): Promise<void> => Promise.resolve();

  protected abstract route(request: RecordedRequest): FakeResponse;
  /**
   * Whether a request only reads, so that a fault of writes does not affect it. Override it for an API whose reads are not GET,
   * such as GraphQL.
   */
  protected readsOnly({ method }: RecordedRequest): boolean {
    return method === "GET";
  }

  /** Listens on a free loopback port, for clients in other processes and for tests of broken connections. */
  async listen(): Promise<this> {
    const server = createServer((request, response) => void this.#serve(request, response));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#close = () => {
      server.closeAllConnections();
      return new Promise((done) => void server.close(() => done()));
    };
    return this;
  }
  /** Answers the requests of this process to `url` by msw, without a port. Requests to other addresses fail. */
  intercept<Handler>(url: string, { http, setupServer }: Msw<Handler>): this {
    this.url = url;
    const server = setupServer(http.all(`${url}/*`, ({ request }) => this.#respond(request)));
    server.listen({ onUnhandledRequest: "error" });
    this.#close = async () => server.close();
    return this;
  }
  writes = (): number => this.#written;
  fault(fault: TrackerFault): void {
    this.#fault.set(fault);
  }
  heal(): void {
    this.#fault.heal();
  }
  close(): Promise<void> {
    return this.#close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const part of request) text += part;
    const { fault, status, headers, json } = this.#answer(request.method ?? "GET", request.url ?? "/", request.headers, text);
    if (fault === "hang") return;
    if (fault === "drop") return void request.socket.destroy();
    if (fault !== "truncate") return void response.writeHead(status, headers).end(json);
    response.writeHead(status, { ...headers, "content-length": json.length });
    response.write(json.slice(0, json.length / 2), () => request.socket.destroy());
  }

  async #respond(request: Request): Promise<Response> {
    const requestHeaders = Object.fromEntries(request.headers);
    const { fault, status, headers, json } = this.#answer(request.method, request.url, requestHeaders, await request.text());
    if (fault === "hang") return new Promise(() => {});
    if (fault === "drop") return Response.error();
    const truncatedBody = new ReadableStream<Uint8Array>({
      start: (body) => body.enqueue(new TextEncoder().encode(json.slice(0, json.length / 2))),
      pull: (body) => body.error(new TypeError("terminated")),
    });
    const isEmpty = status === 204 || status === 304;
    return new Response(fault === "truncate" ? truncatedBody : isEmpty ? null : json, { status, headers });
  }

  /** Records a request and answers it, unless a fault prevents the response: `hang`, `drop` or `truncate`. */
  #answer(method: string, target: string, requestHeaders: RecordedRequest["headers"], text: string) {
    const { pathname, searchParams } = new URL(target, this.url);
    const seenRequest = {
      method,
      path: pathname,
      query: searchParams,
      headers: requestHeaders,
      body: text === "" ? undefined : parseBody(text),
    };
    this.requests.push(seenRequest);
    const fault = this.#fault.next(this.readsOnly(seenRequest) ? "GET" : method, pathname);
    const reply: FakeResponse = isApplied(fault) ? this.route(seenRequest) : { status: 500, body: {} };
    if (reply.wrote) this.#written += 1;
    const headers = { "content-type": "application/json; charset=utf-8", ...reply.headers };
    if (fault?.kind === "status")
      return { fault: null, status: fault.status ?? 500, headers: { ...headers, ...fault.headers }, json: fault.body ?? "{}" };
    const json = reply.body === undefined ? "" : JSON.stringify(reply.body);
    return { fault: fault?.kind ?? null, status: reply.status, headers, json };
  }
}
