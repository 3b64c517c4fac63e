import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTcpProxy, startUrlProxy } from "./tcp-proxy.ts";
import { eventually } from "./wait.ts";

/** The data that the server has received over all connections; it sends everything back. */
let received = "";
let server: Server;
let port = 0;
const atServer = new Set<Socket>();
beforeAll(async () => {
  server = createServer((socket) => {
    atServer.add(socket);
    socket.on("close", () => atServer.delete(socket)).on("error", () => {});
    socket.on("data", (chunk) => {
      received += chunk;
      socket.write(chunk);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

/** A client that stores the received data, and how its connection ended. */
function client(at: number) {
  const seen = { text: "", error: "", closed: false };
  const socket = connect(at, "127.0.0.1");
  socket.on("data", (chunk) => {
    seen.text += chunk;
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    seen.error = error.code ?? "";
  });
  socket.on("close", () => {
    seen.closed = true;
  });
  return { seen, send: (text: string) => socket.write(text), end: () => socket.end() };
}
/** A direct request and its response: data that was sent through the proxy before would have arrived. */
async function roundTrip(): Promise<void> {
  const direct = client(port);
  direct.send(".");
  await eventually(() => direct.seen.text === ".", { interval: 1 });
  direct.end();
}

test("passes bytes and ends in both directions", async () => {
  await using proxy = await startTcpProxy("127.0.0.1", port);
  const one = client(proxy.port);
  one.send("hello");
  await eventually(() => one.seen.text === "hello", { interval: 1 });
  expect([proxy.open, proxy.accepted]).toEqual([1, 1]);
  one.end();
  await eventually(() => one.seen.closed && proxy.open === 0, { interval: 1 });
  expect(one.seen.error).toBe("");
  const large = "x".repeat(5_000_000);
  const two = client(proxy.port);
  two.send(large);
  await eventually(() => two.seen.text.length === large.length);
});

test("cut resets and refuses connections; mend accepts them again on the same port", async () => {
  await using proxy = await startTcpProxy("127.0.0.1", port);
  const before = client(proxy.port);
  before.send("a");
  await eventually(() => before.seen.text === "a", { interval: 1 });
  await proxy.cut();
  const during = client(proxy.port);
  await eventually(() => before.seen.error === "ECONNRESET" && during.seen.error === "ECONNREFUSED", { interval: 1 });
  const own = proxy.port;
  await proxy.mend();
  const after = client(own);
  after.send("b");
  await eventually(() => after.seen.text === "b", { interval: 1 });
  proxy.reset();
  await eventually(() => after.seen.error === "ECONNRESET", { interval: 1 });
  const again = client(own);
  again.send("c");
  await eventually(() => again.seen.text === "c", { interval: 1 });
});

test("freeze passes on no data, closes or new connections; mend passes them on later", async () => {
  await using proxy = await startTcpProxy("127.0.0.1", port);
  const old = client(proxy.port);
  old.send("1");
  await eventually(() => old.seen.text === "1", { interval: 1 });
  proxy.freeze();
  const young = client(proxy.port);
  const gone = client(proxy.port);
  for (const one of [old, young]) one.send("held-1");
  gone.send("held-2");
  gone.end();
  await eventually(() => proxy.accepted === 3 && atServer.size === 3, { interval: 1 });
  await roundTrip();
  expect(received).not.toContain("held");
  expect([old.seen, young.seen]).toMatchObject([
    { text: "1", closed: false },
    { text: "", closed: false },
  ]);
  await proxy.mend();
  await eventually(() => old.seen.text === "1held-1" && young.seen.text === "held-1" && gone.seen.text === "held-2", {
    interval: 1,
  });

  // One direction only: the server receives the data, the client does not.
  proxy.freeze("to-client");
  old.send("heard");
  await eventually(() => received.includes("heard"), { interval: 1 });
  await roundTrip();
  expect(old.seen.text).toBe("1held-1");
  await proxy.mend({ held: "reset" });
  await eventually(() => old.seen.error === "ECONNRESET" && young.seen.error === "ECONNRESET", { interval: 1 });
  expect(old.seen.text).toBe("1held-1");
});

test("delay holds bytes back in their order", async () => {
  await using proxy = await startUrlProxy(`http://127.0.0.1:${port}/path`);
  expect(proxy.url).toBe(`http://127.0.0.1:${proxy.port}/path`);
  proxy.delay(20);
  const one = client(proxy.port);
  const began = performance.now();
  for (const text of ["a", "b", "c"]) one.send(text);
  await eventually(() => one.seen.text === "abc", { interval: 1 });
  // At least the delay of both directions.
  expect(performance.now() - began).toBeGreaterThan(38);
});

test("a lost answer: the server has executed the query, the client gets no answer, other connections continue", async () => {
  await using proxy = await startTcpProxy("127.0.0.1", port);
  const [one, other] = [client(proxy.port), client(proxy.port)];
  const loss = proxy.loseAnswers({ when: /insert/ });
  one.send("select;");
  await eventually(() => one.seen.text === "select;", { interval: 1 });
  one.send("insert;");
  await eventually(() => received.includes("insert;") && loss.lost === 1, { interval: 1 });
  // Only once, and this connection remains silent.
  other.send("insert again;");
  await eventually(() => other.seen.text === "insert again;", { interval: 1 });
  one.send("more;");
  await eventually(() => received.includes("more;"), { interval: 1 });
  await roundTrip();
  expect(one.seen).toMatchObject({ text: "select;", closed: false });
  await proxy.mend();
  await eventually(() => one.seen.error === "ECONNRESET", { interval: 1 });
  expect(other.seen.error).toBe("");
});

test("stranded connections never pass data again; new ones do", async () => {
  await using proxy = await startTcpProxy("127.0.0.1", port);
  const old = client(proxy.port);
  old.send("1");
  await eventually(() => old.seen.text === "1", { interval: 1 });
  proxy.strand();
  old.send("into the void");
  const young = client(proxy.port);
  young.send("2");
  await eventually(() => young.seen.text === "2", { interval: 1 });
  await roundTrip();
  expect(old.seen).toMatchObject({ text: "1", closed: false });
  expect(received).not.toContain("into the void");
  await proxy.mend();
  await eventually(() => old.seen.error === "ECONNRESET", { interval: 1 });
  young.send("3");
  await eventually(() => young.seen.text === "23", { interval: 1 });
});
