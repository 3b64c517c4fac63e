import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const key = "the-key-of-the-operator";
const most = 20;
let service: Service;
beforeAll(async () => {
  service = await startService({ apiKey: key, env: { API_KEYS: key, HOST: "127.0.0.1", MAX_CONNECTIONS: String(most) } });
}, 120_000);
afterAll(() => service?.close());

/** A connection that sends this and no more. */
async function hold(sent: string): Promise<Socket> {
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1")
    .on("error", () => {})
    .resume();
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(sent);
  return socket;
}

/** The answer to a request on a new connection. */
async function askOnce(): Promise<string> {
  const socket = await hold(`GET /api/agents HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`);
  const [answer] = await once(socket, "data");
  socket.destroy();
  return String(answer);
}

test.each([
  ["nothing", ""],
  ["a part of a request line", "POST /webhook/al"],
  ["a part of the headers", "POST /webhook/alpha HTTP/1.1\r\nhost: localhost\r\nx-a:"],
  ["a request that is answered", "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"],
  ["a request that is refused before its body", "POST /webhook/none HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n"],
  ["a part of a body", "POST /webhook/alpha HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"],
])("more connections than the limit, which send %s, keep no one out", async (_, sent) => {
  const held: Socket[] = [];
  for (let i = 0; i < 3 * most; i++) held.push(await hold(sent));
  for (let i = 0; i < most; i++) expect(await askOnce()).toMatch(/^HTTP\/1.1 200 /);
  await eventually(() => held.filter(({ closed }) => !closed).length <= most || null, { timeout: 3_000 });
});

test("connections that do not read their answers keep no one out", async () => {
  const ask = "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
  const held: Socket[] = [];
  // More answers than the buffers of a connection contain.
  for (let i = 0; i < most; i++) held.push((await hold(ask.repeat(16))).pause());
  for (let i = 0; i < most; i++) expect(await askOnce()).toMatch(/^HTTP\/1.1 200 /);
});

test("a connection with a request is kept; it can be an event stream", async () => {
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${key}` };
  const live = await fetch(`${service.url}/api/events`, { headers, signal: stop.signal });
  expect(live.headers.get("content-type")).toContain("text/event-stream");
  for (let i = 0; i < 3 * most; i++) await hold("");
  expect(await askOnce()).toMatch(/^HTTP\/1.1 200 /);
  const reader = live.body?.getReader();
  const read = await Promise.race([reader?.read(), new Promise((done) => setTimeout(done, 1_000, "open"))]);
  expect(read === "open" || (read as { done: boolean }).done === false).toBe(true);
  stop.abort();
});
