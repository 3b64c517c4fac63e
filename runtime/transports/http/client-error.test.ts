import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import { expect, onTestFinished, test } from "vitest";
import { createWatchdog } from "../../watchdog/watchdog.ts";
import { answerClientErrors, listenerOptions } from "./client-error.ts";

interface Client {
  readonly socket: Socket;
  /** What the server sent until it closed the connection. */
  readonly received: Promise<string>;
}

/** A server with a short time for the headers. `late`: the number of connections whose time has passed. */
async function aServer(unusedMs: number) {
  const server = createServer({ headersTimeout: 100, requestTimeout: 100, connectionsCheckingInterval: 20 }, (_, response) =>
    response.setHeader("connection", "close").end("answered"),
  );
  answerClientErrors(server, { unusedMs });
  const late = Promise.withResolvers<void>();
  server.on("clientError", () => late.resolve());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const open = async (): Promise<Client> => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    await once(socket, "connect");
    return { socket, received: text(socket) };
  };
  return { open, late: late.promise };
}

test("a connection that was opened in advance takes its first request after the time for the headers", async () => {
  const { open, late } = await aServer(60_000);
  const { socket, received } = await open();
  await late;
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  expect(await received).toMatch(/^HTTP\/1.1 200 .*answered/s);
});

test("its first request has the same time for its headers as others, then comes 408", async () => {
  const { open, late } = await aServer(60_000);
  const { socket, received } = await open();
  await late;
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n");
  expect(await received).toMatch(/^HTTP\/1.1 408 .*did not arrive in time/s);
});

test("a connection that stays unused is closed without an answer", async () => {
  const { open } = await aServer(50);
  expect(await (await open()).received).toBe("");
});

test("an error outside of the routes is logged with its details, once if a client repeats the request; a client's end is not", async () => {
  const lines: (readonly [string, unknown])[] = [];
  const log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (...line: [string, unknown?]) => void lines.push([line[0], line[1]]),
    with: () => log,
  };
  const watchdog = createWatchdog(undefined as never, log, false);
  const options = listenerOptions((message, context) => watchdog("error", message, context));
  const aborted = Promise.withResolvers<unknown>();
  const handle = (request: Request) => {
    if (!request.url.endsWith("/slow")) return Promise.reject(new TypeError("the route is broken"));
    return new Promise<Response>((_, fail) =>
      request.signal.addEventListener("abort", () => {
        fail(request.signal.reason);
        aborted.resolve(request.signal.reason);
      }),
    );
  };
  const server = createServer(getRequestListener(handle, { ...options, overrideGlobalObjects: false }));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  for (let i = 0; i < 3; i++) {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect([response.status, await response.json()]).toEqual([500, { error: expect.stringContaining("log has the details") }]);
  }
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.write("GET /slow HTTP/1.1\r\nhost: a\r\n\r\n", () => setImmediate(() => client.destroy()));
  await aborted.promise;
  await new Promise((done) => setImmediate(done));
  expect(lines).toEqual([["request failed", { reason: "TypeError", error: expect.stringContaining("the route is broken") }]]);
  server.closeAllConnections();
  server.close();
});
