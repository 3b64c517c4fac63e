import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { expect, test } from "vitest";
import { createWatchdog } from "../../watchdog/watchdog.ts";
import { listenerOptions } from "./client-error.ts";

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
