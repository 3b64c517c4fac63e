import http2 from "node:http2";
import { connect } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gateway } from "../harness/gateway.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

/** Connect reads the body of a call before the caller is authenticated, so strangers can send bodies. */
const key = "the-key-of-the-operator";
let service: Service;
beforeAll(async () => {
  const env = { API_KEYS: key, HOST: "127.0.0.1", MAX_INFLIGHT_BODY_BYTES: "1000000" };
  service = await startService({ apiKey: key, env });
}, 120_000);
afterAll(() => service?.close());

const calls = [
  "/signalbox.gateway.v1.AgentGateway/RegisterAgent",
  "/signalbox.gateway.v1.AgentGateway/ReceiveTasks",
  "/signalbox.api.v1.AgentService/ListAgents",
  "/grpc.health.v1.Health/Check",
];

interface Held {
  /** The trailers, once the server has closed the stream. */
  readonly ended: Promise<{ status: string; text: string }>;
  destroy(): void;
}

/** Begins a call on the gRPC port, and sends a part of its message. */
function holdOverHttp2(path: string, bytes: number): Held {
  const session = http2.connect(`http://127.0.0.1:${service.grpcPort}`);
  const stream = session.on("error", () => {}).request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  const message = Buffer.alloc(5 + bytes);
  message.writeUInt32BE(bytes + 1, 1);
  stream.on("error", () => {}).write(message);
  let found = { status: "", text: "" };
  stream.once("trailers", (trailers) => {
    found = { status: String(trailers["grpc-status"]), text: decodeURIComponent(String(trailers["grpc-message"])) };
  });
  stream.resume();
  return {
    ended: new Promise((done) => {
      stream.once("close", () => done(found));
    }),
    destroy: () => session.destroy(),
  };
}

/** The same on the HTTP port, in JSON. */
function holdOverHttp1(path: string, bytes: number): { answer: Promise<string>; destroy: () => void } {
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
  const head = ["host: localhost", "content-type: application/json", `content-length: ${bytes + 1}`];
  socket.on("error", () => {}).write(`POST ${path} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${" ".repeat(bytes)}`);
  let text = "";
  socket.on("data", (data) => {
    text += data;
  });
  const answer = new Promise<string>((done) => {
    socket.once("close", () => done(text));
  });
  return { answer, destroy: () => socket.destroy() };
}

const registers = async () =>
  (await gateway(service.url, `Bearer ${key}`).call("RegisterAgent", { agent_id: "pm_default" })).code !== "unavailable";

test.each(calls)("%s: unauthenticated bodies share a budget on both ports, and free it when they end", async (path) => {
  const overHttp2 = Array.from({ length: 4 }, () => holdOverHttp2(path, 400_000));
  const refused = await Promise.race(overHttp2.map(({ ended }) => ended));
  expect(refused).toEqual({ status: String(Code.Unavailable), text: expect.stringMatching(/^Too many request bodies/) });
  for (const one of overHttp2) one.destroy();
  await eventually(registers);
  if (/ReceiveTasks|Health/.test(path)) return;
  const overHttp1 = Array.from({ length: 4 }, () => holdOverHttp1(path, 400_000));
  expect(await Promise.race(overHttp1.map(({ answer }) => answer))).toMatch(/Too many request bodies/);
  for (const one of overHttp1) one.destroy();
  await eventually(registers);
});

test("a body that does not arrive within 30 seconds ends its call, on both ports", { timeout: 120_000 }, async () => {
  const held = calls.map((path) => holdOverHttp2(path, 1_000));
  const other = holdOverHttp1(calls[0] as string, 1_000);
  for (const { ended } of held)
    expect(await ended).toEqual({ status: String(Code.DeadlineExceeded), text: expect.stringMatching(/within 30 seconds/) });
  expect(await other.answer).toMatch(/did not arrive within 30 seconds/);
  for (const { destroy } of held) destroy();
});

const framed = (message: Uint8Array, flags = 0) => {
  const head = Buffer.from([flags, 0, 0, 0, 0]);
  head.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat([head, message]);
};

describe("a message that would take long to parse is refused before it is parsed", () => {
  const [register] = calls as [string];
  const explain = "/signalbox.api.v1.TaskService/ExplainWebhook";
  const many = 40_000;
  const json = `{"capabilities":[${'"",'.repeat(many)}""]}`;
  /** Field 3, an empty text. */
  const binary = Buffer.from([26, 0].concat(Array(2 * many).fill(0))).fill(Buffer.from([26, 0]));
  /** A text or message as a field. */
  const field = (number: number, content: Uint8Array): Buffer => {
    const length: number[] = [];
    for (let rest = content.byteLength; ; rest >>= 7) {
      length.push((rest & 127) | (rest > 127 ? 128 : 0));
      if (rest <= 127) return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
    }
  };
  /** A member `a` of free JSON, a list of nulls: each is a message in a list in a value in an entry of a map. */
  const nulls = field(6, Buffer.alloc(4 * many, Buffer.from([10, 2, 8, 0])));
  const free = (value: Uint8Array) => field(3, Buffer.concat([field(1, Buffer.from("a")), field(2, value)]));
  let deep: Buffer = Buffer.from([8, 0]);
  for (let level = 0; level < 60; level++) deep = field(6, field(1, deep));
  const gzip = { "content-encoding": "gzip" };
  test.each<[string, Uint8Array, string, Record<string, string>, string?]>([
    ["JSON", Buffer.from(json), "application/json", {}],
    ["JSON in gzip", gzipSync(json), "application/json", gzip],
    ["JSON with a wide object", Buffer.from(`{"a":[{${'"":1,'.repeat(10_000)}"":1}]}`), "application/json", {}],
    ["JSON in brotli", brotliCompressSync(json), "application/json", { "content-encoding": "br" }],
    ["JSON of a stream in gzip", framed(gzipSync(json), 1), "application/grpc-web+json", { "grpc-encoding": "gzip" }],
    ["deep JSON in gzip", gzipSync("[".repeat(many)), "application/json", gzip],
    ["protobuf", binary, "application/proto", {}],
    ["protobuf in gzip", gzipSync(binary), "application/proto", gzip],
    ["protobuf in a frame", framed(binary), "application/grpc-web+proto", {}],
    ["fields that the message does not have", Buffer.alloc(3 * many, Buffer.from([0xf8, 6, 1])), "application/proto", {}],
    ["free JSON in protobuf", free(nulls), "application/proto", {}, explain],
    ["deep free JSON in protobuf", free(deep), "application/proto", {}, explain],
    ["a group", Buffer.alloc(3 * many, Buffer.from([0x0b, 0x10, 0])), "application/proto", {}],
  ])("%s", async (_, body, type, headers, path = register) => {
    const sent = { method: "POST", body: new Uint8Array(body), headers: { "content-type": type, ...headers } };
    const response = await fetch(service.url + path, sent);
    const text = `${response.headers.get("grpc-message")} ${await response.text()}`;
    expect(decodeURIComponent(text.replace(/%(?![0-9A-F]{2})/g, ""))).toMatch(
      /more than (30000 members and list items|10000 members|(1|2)00 levels)/,
    );
  });
});

async function callOf(body: Uint8Array, type: string, headers: Record<string, string> = {}) {
  const sent = { method: "POST", body: new Uint8Array(body), headers: { "content-type": type, ...headers } };
  const response = await fetch(service.url + calls[0], sent);
  return { response, text: await response.text() };
}

const zeros = framed(gzipSync(Buffer.alloc(4 << 20)), 1);
test.each<[string, Buffer, Record<string, string>]>([
  ["two messages", Buffer.concat([framed(Buffer.from([10, 1, 120])), framed(Buffer.from([10, 1, 120]))]), {}],
  ["a message and a part of another one", Buffer.concat([framed(Buffer.from([10, 1, 120])), Buffer.from([0, 0])]), {}],
  ["900 KiB of empty messages", Buffer.alloc(900 << 10), {}],
  ["200 messages of 4 MiB in gzip", Buffer.concat(Array(200).fill(zeros)), { "grpc-encoding": "gzip" }],
])("%s in one call are refused before they are decompressed", async (_, body, headers) => {
  const { text } = await callOf(body, "application/grpc-web+proto", headers);
  expect(text).toMatch(new RegExp(`grpc-status: ${Code.Unimplemented}\\b`));
  expect(decodeURIComponent(text.slice(text.indexOf("grpc-message")))).toContain("more than one message");
});

test.each<[string, number[]]>([
  ["a text longer than the message", [10, 9, 120]],
  ["a text that is not UTF-8", [10, 1, 0xff]],
  ["a field with number 0", [2, 0]],
  ["a number without an end", [8, 0xff]],
  ["a number in place of a text", [8, 1]],
])("%s is an invalid argument", async (_, bytes) => {
  const { response, text } = await callOf(Buffer.from(bytes), "application/proto");
  expect([response.status, JSON.parse(text)]).toMatchObject([400, { code: "invalid_argument" }]);
  expect(text).toContain("is not a valid signalbox.gateway.v1.RegisterAgentRequest");
});
