import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { Code } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";
import type { GrpcOptions } from "./calls.ts";
import { startGrpc } from "./server.ts";

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };

async function start(limits: Partial<GrpcOptions>) {
  const routes = async () => () => {};
  return startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0, healthEveryMs: 20, ready: () => true, ...limits });
}

function open(port: number): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${port}`).on("error", () => {});
  onTestFinished(() => session.destroy());
  return session;
}

function watch(session: ClientHttp2Session) {
  const path = "/grpc.health.v1.Health/Watch";
  const call = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" });
  call.on("error", () => {}).resume();
  call.end(Buffer.alloc(5));
  return call;
}

/** A client that stays silent except for what the protocol requires, and never closes its side of the connection. */
function keepOpen(port: number) {
  const socket = connectTcp({ port, host: "127.0.0.1", allowHalfOpen: true }, () => {
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])); // an empty SETTINGS frame
    socket.write(Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])); // GOAWAY: it begins no more calls
  });
  return socket.on("error", () => {}).resume();
}

test("an unused connection is broken off, even if its client never closes it", async () => {
  const server = await start({ keepAliveMs: 100, idleMs: 100, closeMs: 100 });
  const socket = keepOpen(server.port);
  await once(socket, "connect");
  await once(socket, "end");
  // What is written to a socket that the server has destroyed is answered with a reset.
  const writing = setInterval(() => socket.write(Buffer.alloc(9)), 50);
  onTestFinished(() => clearInterval(writing));
  await new Promise((done) => socket.once("close", done));
  await server.close(100);
});

test("a stop does not wait for clients that never close their connection", async () => {
  const server = await start({});
  const socket = keepOpen(server.port);
  await once(socket, "connect");
  await once(socket, "data");
  const began = Date.now();
  await server.close(20_000);
  expect(Date.now() - began).toBeLessThan(10_000);
  socket.destroy();
});

test("a connection that only watches the health gives way to a new one", async () => {
  const server = await start({ maxSessions: 2 });
  const [first, second] = [open(server.port), open(server.port)];
  for (const session of [first, second]) await once(watch(session), "response");
  const third = open(server.port);
  await Promise.all([once(first, "close"), once(third, "remoteSettings")]);
  expect([second.closed, third.closed]).toEqual([false, false]);
  await server.close(100);
});

test("a connection has a limited number of health streams, and others do not notice", async () => {
  const server = await start({});
  const [greedy, modest] = [open(server.port), open(server.port)];
  const calls = Array.from({ length: 11 }, () => watch(greedy));
  const statusOf = async (call: (typeof calls)[number]) => (await once(call, "response"))[0]["grpc-status"];
  expect(Number((await Promise.all(calls.map(statusOf))).at(-1))).toBe(Code.ResourceExhausted);
  expect(await statusOf(watch(modest))).toBe(undefined);
  // Its place is free again.
  calls[0]?.close();
  if (!calls[0]?.destroyed) await once(calls[0] as (typeof calls)[number], "close");
  expect(await statusOf(watch(greedy))).toBe(undefined);
  await server.close(100);
});
