import http2 from "node:http2";
import { connect } from "node:net";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gateway } from "../harness/gateway.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

/** Connect reads the body of a call before it is known who calls, so strangers can send them. */
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
  /** What the trailers say once the server has closed the stream. */
  readonly ended: Promise<{ status: string; text: string }>;
  destroy(): void;
}

/** Begins a call on the port of gRPC, and sends a part of its message. */
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

/** The same on the other port, in JSON. */
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

test("a body that does not arrive within 30 seconds ends its call, on both ports", { timeout: 90_000 }, async () => {
  const held = calls.map((path) => holdOverHttp2(path, 1_000));
  const other = holdOverHttp1(calls[0] as string, 1_000);
  for (const { ended } of held)
    expect(await ended).toEqual({ status: String(Code.DeadlineExceeded), text: expect.stringMatching(/within 30 seconds/) });
  expect(await other.answer).toMatch(/did not arrive within 30 seconds/);
  for (const { destroy } of held) destroy();
});
