import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { noLog } from "../../transports/http/testing/door.ts";
import { openRedis, type Redis } from "./client.ts";

const real = process.env.TEST_REDIS_URL;

let redis: Redis | null = null;
let way: Server | null = null;
const sockets = new Set<Socket>();
afterEach(async () => {
  await redis?.close();
  for (const socket of sockets) socket.destroy();
  if (way) await new Promise((done) => way?.close(done));
});

/** A proxy to Redis whose open connections can become silent, as when a router forgets them; later ones work. */
async function silenceable(url: URL): Promise<{ url: string; silence(): void }> {
  way = createServer((near) => {
    const far = connect(Number(url.port || 6379), url.hostname);
    for (const socket of [near, far]) sockets.add(socket.on("error", () => {}));
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((done) => way?.listen(0, "127.0.0.1", done));
  const through = new URL(url);
  through.host = `127.0.0.1:${(way.address() as AddressInfo).port}`;
  const silence = () => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  return { url: through.href, silence };
}

test("an error names the address and the reason", async () => {
  redis = await openRedis("redis://:secret@127.0.0.1:1", "test:", noLog);
  await expect(redis?.call("PING")).rejects.toMatchObject({
    code: "unavailable",
    message: "Redis is unavailable (127.0.0.1:1, ECONNREFUSED).",
  });
});

test("the log says once why Redis is unavailable, also if the connection was lost before", {
  timeout: 30_000,
  tags: ["redis"],
}, async () => {
  const url = new URL(real as string);
  let refuses = false;
  way = createServer((near) => {
    sockets.add(near.on("error", () => {}));
    if (refuses) return near.on("data", () => near.write("-NOAUTH Authentication required.\r\n"));
    const far = connect(Number(url.port || 6379), url.hostname);
    sockets.add(far.on("error", () => {}));
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((done) => way?.listen(0, "127.0.0.1", done));
  const warnings: unknown[] = [];
  const log = { ...noLog, warn: (message: string, fields: object = {}) => warnings.push({ message, ...fields }) };
  const address = `127.0.0.1:${(way.address() as AddressInfo).port}`;
  redis = await openRedis(`redis://${address}`, "test:", log as unknown as typeof noLog);
  refuses = true;
  for (const socket of sockets) socket.destroy();
  const expected = [
    { message: "the connection to Redis was lost; connecting again", address },
    { message: "Redis is unavailable", address, error: "NOAUTH Authentication required" },
  ];
  await expect.poll(() => warnings, { timeout: 15_000 }).toEqual(expected);
  await expect(redis?.call("PING")).rejects.toThrow(`Redis is unavailable (${address}, NOAUTH Authentication required).`);
  expect(warnings).toEqual(expected);
});

test("a silent connection is replaced by a new one", { timeout: 30_000, tags: ["redis"] }, async () => {
  const { url, silence } = await silenceable(new URL(real as string));
  redis = await openRedis(url, "test:", noLog);
  expect(await redis?.call("PING")).toBe("PONG");
  silence();
  await expect(redis?.call("PING")).rejects.toMatchObject({ code: "unavailable" });
  await expect.poll(() => redis?.call("PING").catch(() => "away"), { timeout: 15_000, interval: 200 }).toBe("PONG");
});

test("a server that is available only later and refuses the database is not used", {
  timeout: 30_000,
  tags: ["redis"],
}, async () => {
  const url = new URL(real as string);
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address() as AddressInfo;
  await new Promise((done) => free.close(done));
  redis = await openRedis(`redis://127.0.0.1:${port}/99999`, "test:", noLog);
  way = createServer((near) => {
    const far = connect(Number(url.port || 6379), url.hostname);
    for (const socket of [near, far]) sockets.add(socket.on("error", () => {}));
    near.pipe(far).pipe(near);
  }).listen(port, "127.0.0.1");
  const answer = () => redis?.call("PING").catch((error: Error) => error.message);
  await expect.poll(answer, { timeout: 15_000, interval: 200 }).toContain("REDIS_URL: the server refuses database 99999");
});
