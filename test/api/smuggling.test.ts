import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runtimeUnderTest } from "../harness/process.ts";
import { type Service, startService } from "../harness/service.ts";

/** What a proxy and the service could read differently must not be read at all. */
let service: Service;
beforeAll(async () => {
  service = await startService({ env: { API_KEYS: "the-key-of-the-operator" } });
}, 120_000);
afterAll(() => service?.close());

/** All that a connection answers until it is closed. Fails if it stays open. */
function answersTo(sent: string): Promise<string> {
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
  let text = "";
  socket.on("data", (data) => {
    text += data.toString("latin1");
  });
  socket.on("error", () => {}).write(Buffer.from(sent, "latin1"));
  return new Promise((done) => {
    socket.once("close", () => done(text));
  });
}

const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
const post = (headers: string, body: string) => `POST /api/agents HTTP/1.1\r\nHost: a\r\n${headers}\r\n${body}`;
const chunked = (body: string) => post("Transfer-Encoding: chunked\r\n", body);
const endlessExtension: [string, string] = [
  "an endless extension of a chunk",
  chunked(`2;a=${"b".repeat(17_000)}\r\n{}\r\n0\r\n\r\n${hidden}`),
];
const get = (headers: string) => `GET /health HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;

test.each<[string, string]>([
  ["a length and chunks", post(`Content-Length: ${hidden.length + 5}\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${hidden}`)],
  ["chunks and a length", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", `21\r\n${hidden}\r\n0\r\n\r\n`)],
  ["two lengths", post("Content-Length: 0\r\nContent-Length: 33\r\n", hidden)],
  ["a list of lengths", post("Content-Length: 0, 33\r\n", hidden)],
  ["a length with a sign", post("Content-Length: +0\r\n", hidden)],
  ["a length below zero", post("Content-Length: -1\r\n", hidden)],
  ["a length that no number holds", post("Content-Length: 99999999999999999999\r\n", hidden)],
  ["chunks in another encoding", post("Transfer-Encoding: chunked, identity\r\n", `0\r\n\r\n${hidden}`)],
  ["an encoding with a control character", post("Transfer-Encoding:\x0bchunked\r\n", `0\r\n\r\n${hidden}`)],
  ["an encoding with a space in its name", post("Transfer-Encoding : chunked\r\n", `0\r\n\r\n${hidden}`)],
  ["a folded header", get("X-A: b\r\n c\r\n")],
  ["a folded encoding", post("Transfer-Encoding:\r\n chunked\r\n", `0\r\n\r\n${hidden}`)],
  ["line feeds alone", "GET /health HTTP/1.1\nHost: a\n\n"],
  ["a carriage return alone", get("X-A: a\rContent-Length: 5\r\n")],
  ["line feeds alone in chunks", chunked(`2\n{}\n0\n\n${hidden}`)],
  ["a line feed in a chunk's extension", chunked(`2;a\nb\r\n{}\r\n0\r\n\r\n${hidden}`)],
  // Deno skips extensions of any length, as a proxy can too.
  ...(runtimeUnderTest() === "deno" ? [] : [endlessExtension]),
  ["a chunk whose size no number holds", chunked(`10000000000000002\r\n{}\r\n0\r\n\r\n${hidden}`)],
  ["a chunk without an end", chunked(`2\r\n{}XX0\r\n\r\n${hidden}`)],
  ["NUL in a header", get("X-A: a\0b\r\n")],
  ["NUL in a header's name", get("X\0A: b\r\n")],
  ["a space in the path", "GET /hea lth HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["a header without a colon", get("abc\r\n")],
  ["headers of 20 KiB", get(`X-A: ${"b".repeat(20_000)}\r\n`)],
])("%s: refused, the connection closed", async (_, sent) => {
  const answer = await answersTo(sent);
  // The request itself can be answered before its body turns out to be invalid.
  expect((answer.match(/HTTP\/1\.1 \d+/g) ?? []).filter((status) => !status.endsWith("401"))).toHaveLength(1);
  expect(answer).toMatch(/HTTP\/1\.1 4(00|31) /);
  expect(answer).not.toContain("hidden");
});

test("a connection that sends many requests without waiting for an answer is closed, and others are served", async () => {
  const answer = await answersTo(get("").repeat(20_000));
  expect((answer.match(/HTTP\/1\.1 /g) ?? []).length).toBeLessThan(100);
  expect((await service.get("/health")).status).toBe(200);
});

test("a few requests in advance are answered in their order", async () => {
  const answer = await answersTo(`${get("").repeat(7)}${get("Connection: close\r\n")}`);
  expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(8);
});
