import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { runtimeUnderTest } from "../harness/process.ts";
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
  const answer = await firstOf(socket);
  socket.destroy();
  return answer;
}

/** The first data of a connection; nothing if it is closed before. */
const firstOf = (socket: Socket): Promise<string> =>
  new Promise((done) => socket.once("data", (data) => done(String(data))).once("close", () => done("")));

/** A connection whose answer is an event stream, so that it is in use. */
async function stream(): Promise<Socket> {
  const socket = await hold(`GET /api/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`);
  expect(await firstOf(socket)).toContain("text/event-stream");
  return socket;
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

test("an idle connection stays open for longer than proxies keep theirs, which is 60 s in nginx and AWS", async () => {
  const [, seconds] = /^keep-alive: timeout=(\d+)\r$/im.exec(await askOnce()) ?? [];
  expect(Number(seconds)).toBeGreaterThan(60);
});

// Without it, a client that vanished would hold its stream for ever. Deno has no such option.
test.runIf(process.platform === "linux" && runtimeUnderTest() !== "deno")(
  "the system asks the client of a silent connection within a minute whether it is still there",
  async () => {
    const { localPort } = await stream();
    const local = (port: number | string | undefined) => `:${Number(port).toString(16).toUpperCase().padStart(4, "0")}`;
    // Two is the timer of such probes, and the time until the next one is in hundredths of a second.
    const probe = await eventually(
      () => {
        const lines = readFileSync("/proc/net/tcp", "utf8").split("\n");
        const own = lines
          .map((line) => line.trim().split(/\s+/))
          .find(([, from, to]) => from?.endsWith(local(new URL(service.url).port)) && to?.endsWith(local(localPort)));
        return /^02:(.*)$/.exec(own?.[5] ?? "")?.[1] ?? null;
      },
      { timeout: 5_000 },
    );
    expect(Number.parseInt(probe, 16) / 100).toBeLessThan(60);
  },
);

test("connections that send a part of a body keep no one out", async () => {
  const head = "POST /webhook/alpha HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n";
  const held: Socket[] = [];
  for (let i = 0; i < most; i++) {
    const socket = await hold(`${head}expect: 100-continue\r\n\r\n`);
    // The service waits for the body.
    expect(await firstOf(socket)).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write("{");
    held.push(socket);
  }
  for (let i = 0; i < most; i++) expect(await askOnce()).toMatch(/^HTTP\/1.1 200 /);
  expect(held.filter(({ closed }) => !closed).length).toBeLessThan(most);
});

test("a connection that does not read its answers keeps no one out, if all others are in use", async () => {
  const inUse: Socket[] = [];
  for (let i = 1; i < most; i++) inUse.push(await stream());
  // More answers than the buffers of a connection contain.
  const delivery = { "content-type": "application/json", "x-alpha-event": "issues" };
  const body = JSON.stringify({ action: "opened", text: "x".repeat(2_000_000) });
  const stored = await fetch(`${service.url}/webhook/alpha`, {
    method: "POST",
    headers: { ...delivery, connection: "close" },
    body,
  });
  const { event_id } = (await stored.json()) as { event_id: string };
  const ask = `GET /api/webhook-events/${event_id} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`;
  const deaf = (await hold(ask.repeat(16))).pause();
  await eventually(async () => ((await askOnce()).startsWith("HTTP/1.1 200 ") ? true : null), { timeout: 5_000 });
  deaf.resume();
  await eventually(() => deaf.closed || null, { timeout: 3_000 });
  expect(inUse.filter(({ closed }) => closed)).toEqual([]);
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
