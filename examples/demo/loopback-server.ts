import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Hono } from "hono";
import { type FaultRule, Faults, howOf, type Misbehaviour } from "./faults.ts";

/** A request and the status of its response. */
export interface Received {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** ISO 8601. */
  readonly at: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON, or the text if it is not JSON; `null` without a body. */
  readonly body: unknown;
  /** `null` if no response was sent. */
  status: number | null;
}

interface LoopbackOptions {
  readonly port?: number;
  /** The service itself. A header `x-misbehave` in its response triggers that fault and is not sent. */
  readonly handler: (request: Request) => Response | Promise<Response>;
  /** Body of an error response that a fault rule requests, in the platform's format. */
  readonly errorBody: (status: number, how: Misbehaviour) => unknown;
  /** Headers of every response. */
  readonly headers?: () => Record<string, string>;
}

export interface LoopbackServer {
  readonly url: string;
  /** Newest last; at most 100,000. */
  readonly requests: Received[];
  readonly faults: Faults;
  /** Served under `/_control`, without faults and delays, and not recorded. */
  readonly control: Hono;
  /** Milliseconds before each request is carried out. */
  delayMs: number;
  close(): Promise<void>;
}

const keep = 100_000;

/** A server on 127.0.0.1 that handles requests, records them, and fails according to its rules. */
export async function startLoopback(options: LoopbackOptions): Promise<LoopbackServer> {
  const requests: Received[] = [];
  const faults = new Faults();
  const control = new Hono().basePath("/_control");
  const server = createServer({ keepAliveTimeout: 30_000 });
  await listen(server, options.port ?? 0);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const self: LoopbackServer = { url, requests, faults, control, delayMs: 0, close: () => close(server) };
  addCommonControls(self);
  server.on("request", (incoming, outgoing) => {
    answer(self, options, incoming, outgoing).catch(() => outgoing.destroy());
  });
  return self;
}

async function answer(self: LoopbackServer, options: LoopbackOptions, incoming: IncomingMessage, outgoing: ServerResponse) {
  const { method = "GET", url: path = "/" } = incoming;
  const body = await readBody(incoming);
  const headers = flat(incoming);
  const request = new Request(self.url + path, {
    method,
    headers,
    ...(body && method !== "GET" && method !== "HEAD" ? { body } : {}),
  });
  if (path.startsWith("/_control")) return send(outgoing, await self.control.fetch(request), "none");

  const received: Received = { method, path, at: new Date().toISOString(), headers, body: parseBody(body), status: null };
  self.requests.push(received);
  if (self.requests.length > keep) self.requests.splice(0, keep / 10);
  const due = self.faults.match(method, path, body);
  const rule = due?.rule;
  if (self.delayMs > 0) await sleep(self.delayMs);
  if (rule?.delayMs) await sleep(rule.delayMs);
  if (rule?.hold) await due?.removed;
  const how = rule ? howOf(rule) : "none";
  // A truncated or rubbish response is made from a real one, so these requests are carried out too.
  const skip = rule && !rule.after && !["none", "truncate", "rubbish"].includes(how);
  const ownResponse = skip ? null : await options.handler(request);
  const response = rule && (how === "status" || how === "limit") ? failure(rule, how, options) : ownResponse;
  for (const [name, value] of Object.entries(options.headers?.() ?? {})) outgoing.setHeader(name, value);
  received.status = await send(outgoing, response, how);
}

function failure(rule: FaultRule, how: Misbehaviour, options: LoopbackOptions): Response {
  const status = rule.status ?? 403;
  const retry = rule.retryAfter === undefined ? {} : { "retry-after": String(rule.retryAfter) };
  return Response.json(options.errorBody(status, how), { status, headers: { ...retry, ...rule.headers } });
}

/** Sends a response, with the fault if there is one. Returns the status that was sent, or `null`. */
async function send(outgoing: ServerResponse, response: Response | null, fallback: Misbehaviour): Promise<number | null> {
  const own = response?.headers.get("x-misbehave") as Misbehaviour | null | undefined;
  const how = own ?? fallback;
  if (how === "destroy") outgoing.destroy();
  if (!response || how === "destroy" || how === "hang") return null;
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== "x-misbehave"));
  if (headers["content-type"]?.startsWith("text/event-stream")) return stream(outgoing, response, headers, how);
  const text = how === "rubbish" ? "<html><body>upstream says: it works</body></html>" : await response.text();
  const bytes = Buffer.from(text);
  outgoing.writeHead(
    response.status,
    bodiless(response.status) ? headers : { ...headers, "content-length": String(bytes.length) },
  );
  if (how === "truncate") await cutOff(outgoing, bytes.subarray(0, Math.floor(bytes.length / 2)));
  else outgoing.end(bytes);
  return response.status;
}

async function stream(
  outgoing: ServerResponse,
  response: Response,
  headers: Record<string, string>,
  how: Misbehaviour,
): Promise<number> {
  outgoing.writeHead(response.status, headers);
  let chunks = 0;
  for await (const chunk of response.body ?? []) {
    if (how === "truncate" && ++chunks > 2) {
      await cutOff(outgoing, new Uint8Array());
      break;
    }
    outgoing.write(how === "rubbish" ? "data: {not json\n\n" : chunk);
  }
  outgoing.end();
  return response.status;
}

/** Writes part of the response, waits until it is sent, and closes the connection. */
async function cutOff(outgoing: ServerResponse, bytes: Uint8Array): Promise<void> {
  if (bytes.length > 0) outgoing.write(bytes);
  await sleep(20);
  outgoing.destroy();
}

function addCommonControls(self: LoopbackServer): void {
  self.control.get("/requests", (c) => c.json(self.requests));
  self.control.delete("/requests", (c) => {
    self.requests.length = 0;
    return c.body(null, 204);
  });
  self.control.get("/faults", (c) => c.json(self.faults.list()));
  self.control.post("/faults", async (c) => {
    try {
      return c.json(self.faults.add(await c.req.json<FaultRule>()), 201);
    } catch (error) {
      return c.json({ error: (error as Error).message }, 400);
    }
  });
  self.control.delete("/faults", (c) => {
    self.faults.clear();
    return c.body(null, 204);
  });
  self.control.put("/delay", async (c) => {
    self.delayMs = Number((await c.req.json<{ ms: number }>()).ms) || 0;
    return c.json({ ms: self.delayMs });
  });
}

const bodiless = (status: number): boolean => status === 204 || status === 304;

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((done, fail) => {
    server.once("error", fail);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", fail);
      done();
    });
  });

const close = (server: Server): Promise<void> =>
  new Promise((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });

function readBody(incoming: IncomingMessage): Promise<string> {
  return new Promise((done, fail) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => done(Buffer.concat(chunks).toString("utf8")));
    incoming.on("error", fail);
  });
}

function parseBody(body: string): unknown {
  if (body === "") return null;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** Drops the headers that `Request` refuses or that only concern the connection. */
const flat = (incoming: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(incoming.headers)
      .filter(([name]) => !["connection", "keep-alive", "transfer-encoding", "expect", "upgrade"].includes(name))
      .map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")]),
  );
