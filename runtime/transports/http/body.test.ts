import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Context } from "hono";
import { expect, test } from "vitest";
import { BodyBudget, readBody } from "./body.ts";

test("a body that arrives together with its headers is read at once, and the connection remains usable", async () => {
  let waits = 0;
  class Budget extends BodyBudget {
    override track(...arrival: Parameters<BodyBudget["track"]>) {
      waits++;
      return super.track(...arrival);
    }
  }
  const budget = new Budget(1_000_000);
  const ended: boolean[] = [];
  const server = createServer(async (incoming, outgoing) => {
    await null;
    const c = { env: { incoming, outgoing }, req: { header: (name: string) => incoming.headers[name] } } as unknown as Context;
    const body = await readBody(c, { maxBytes: 100_000, budget });
    await new Promise((done) => setTimeout(done, 5));
    ended.push(incoming.readableEnded);
    outgoing.end(String(body.byteLength));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").setEncoding("utf8");
  for (const length of [20_000, 0, 11_000]) {
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n${"x".repeat(length)}`);
    const [answer] = await once(socket, "data");
    expect(answer).toMatch(new RegExp(`\r\n\r\n${length}$`));
  }
  socket.destroy();
  server.close();
  expect({ waits, ended, bytes: budget.bytes }).toEqual({ waits: 0, ended: [true, true, true], bytes: 0 });
});

test("if too many bodies arrive, the one that has received the least for its age is refused", () => {
  const budget = new BodyBudget(1_000);
  const refused: string[] = [];
  const arrive = (name: string, ageMs: number, bytes: number) =>
    budget.track({ since: performance.now() - ageMs, bytes, refuse: () => refused.push(name) });
  arrive("a large upload", 20_000, 10_000_000);
  for (let i = 0; i < 3_997; i++) arrive("a body that begins", 5, 0);
  arrive("slow", 10_000, 100);
  arrive("slower", 10_000, 1);
  for (let i = 0; i < 2; i++) arrive("a newcomer", 0, 0);
  expect(refused).toEqual(["slower", "slow"]);
});
