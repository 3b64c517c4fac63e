import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { BodyBudget, boundedBody } from "./body.ts";
import { admitPipelined, onceFinished } from "./pipelining.ts";

/** A server, and a connection to it. */
async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Socket> {
  const server = createServer(handle).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
}

const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde";

test("a broken connection releases the bodies of all its requests, also of those that wait behind another", async () => {
  const budget = new BodyBudget(1_000);
  let running = 0;
  const socket = await serve(async (request, response) => {
    if (!admitPipelined(request.socket, response)) return;
    running++;
    onceFinished(response, () => running--);
    for await (const _ of boundedBody(request, response, budget));
  });
  socket.write(post.repeat(3));
  await expect.poll(() => [budget.bytes, running]).toEqual([15, 3]);
  socket.destroy();
  await expect.poll(() => [budget.bytes, running]).toEqual([0, 0]);
});

test("requests that follow each other on one connection leave no listeners, and release their bodies once", async () => {
  const budget = new BodyBudget(1_000);
  const listeners: number[] = [];
  const socket = await serve(async (request, response) => {
    if (!admitPipelined(request.socket, response)) return;
    for await (const _ of boundedBody(request, response, budget));
    listeners.push(request.socket.listenerCount("close"));
    response.end("done");
  });
  for (let i = 0; i < 20; i++) {
    socket.write(post);
    await once(socket, "data");
  }
  await expect.poll(() => budget.bytes).toBe(0);
  expect(listeners.at(-1)).toBe(listeners[0]);
  socket.destroy();
  await new Promise((done) => setTimeout(done, 50));
  expect(budget.bytes).toBe(0);
});
