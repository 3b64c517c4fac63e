import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { FaultInjector, isApplied } from "./fault-injector.ts";
import type { TrackerFault } from "./fixtures.ts";

/** A request that a fake server received. */
export interface RecordedRequest {
  readonly method: string;
  /** Percent-encoded path. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
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

/** A fake HTTP server on a free loopback port that records requests and injects faults. A subclass implements the routes and the state. */
export abstract class FakeServer {
  readonly requests: RecordedRequest[] = [];
  url = "";
  readonly #fault = new FaultInjector();
  #written = 0;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  protected abstract route(request: RecordedRequest): FakeResponse;
  /** Whether a request only reads, so that a fault of writes does not affect it. Override it for an API whose reads are not GET, such as GraphQL. */
  protected readsOnly({ method }: RecordedRequest): boolean {
    return method === "GET";
  }

  async listen(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
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
    this.#server.closeAllConnections();
    return new Promise((done) => void this.#server.close(() => done()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const part of request) text += part;
    const { pathname, searchParams } = new URL(request.url ?? "/", this.url);
    const method = request.method ?? "GET";
    const body = text === "" ? undefined : JSON.parse(text);
    const seen = { method, path: pathname, query: searchParams, headers: request.headers, body };
    this.requests.push(seen);
    const fault = this.#fault.next(this.readsOnly(seen) ? "GET" : method);
    const reply: FakeResponse = isApplied(fault) ? this.route(seen) : { status: 500, body: {} };
    if (reply.wrote) this.#written += 1;
    const json = reply.body === undefined ? "" : JSON.stringify(reply.body);
    if (fault?.kind === "hang") return;
    if (fault?.kind === "drop") return void request.socket.destroy();
    const headers = { "content-type": "application/json; charset=utf-8", ...reply.headers };
    if (fault?.kind === "truncate") {
      response.writeHead(reply.status, { ...headers, "content-length": json.length });
      return void response.write(json.slice(0, json.length / 2), () => request.socket.destroy());
    }
    if (fault) return void response.writeHead(fault.status ?? 500, { ...headers, ...fault.headers }).end(fault.body ?? "{}");
    response.writeHead(reply.status, headers).end(json);
  }
}
