import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentGateway } from "../../examples/agent-typescript/gen/gateway_pb.js";
import { shiftedClock } from "../harness/clock.ts";
import { gateway as gatewayAt } from "../harness/gateway.ts";
import { failureOf, grpcGateway } from "../harness/grpc-agent.ts";
import { root, runtimeUnderTest } from "../harness/process.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const run = promisify(execFile);
const buf = join(root, "node_modules/.bin/buf");
const service = "signalbox.gateway.v1.AgentGateway";
const key = "an-api-key-of-the-operator";
let plain: Service;

/** One service with default settings, open and without TLS. */
beforeAll(async () => {
  plain = await startService({ seed: true });
});
afterAll(() => plain?.close());

const curl = async (url: string, message: object, ...flags: string[]) => {
  const args = ["curl", ...flags, "--protocol", "grpc", "-d", JSON.stringify(message), url];
  const { stdout } = await run(buf, args).catch((error) => ({ stdout: String(error.stderr) }));
  return JSON.parse(stdout) as Record<string, unknown>;
};

test("buf curl finds and calls everything by reflection", async () => {
  const url = `http://127.0.0.1:${plain.grpcPort}`;
  const { stdout } = await run(buf, ["curl", "--http2-prior-knowledge", "--protocol", "grpc", "--list-methods", url]);
  for (const method of [`${service}/ReceiveTasks`, "signalbox.api.v1.AgentService/ListAgents", "grpc.health.v1.Health/Check"])
    expect(stdout).toContain(method);
  const registered = await curl(`${url}/${service}/RegisterAgent`, { agent_id: "pm_default" }, "--http2-prior-knowledge");
  expect(registered).toMatchObject({ trustLevel: "TRUST_LEVEL_DEFAULT", requestsPerMinute: 60 });
  const refused = await curl(`${url}/${service}/RegisterAgent`, { agent_id: "Not An Id" }, "--http2-prior-knowledge");
  expect(refused).toMatchObject({ code: "invalid_argument", message: expect.stringMatching(/^agent_id: /) });
  const health = await curl(`${url}/grpc.health.v1.Health/Check`, { service }, "--http2-prior-knowledge");
  expect(health).toEqual({ status: "SERVING" });
});

describe("with a certificate and an API key", { tags: ["openssl"] }, () => {
  let folder: string;
  let guarded: Service;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-tls-"));
    const [cert, privateKey] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
    const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", privateKey, "-out", cert];
    await run("openssl", [...args, ...subject]);
    const env = { API_KEYS: key, GRPC_TLS_CERT: cert, GRPC_TLS_KEY: privateKey };
    guarded = await startService({ seed: true, apiKey: key, env });
  });
  afterAll(async () => {
    await guarded?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("it speaks TLS, also to buf curl, and nothing else", async () => {
    const [baseUrl, cert] = [`https://127.0.0.1:${guarded.grpcPort}`, join(folder, "cert.pem")];
    const ca = readFileSync(cert);
    const trusting = createClient(AgentGateway, createGrpcTransport({ baseUrl, nodeOptions: { ca } }));
    expect((await failureOf(trusting.registerAgent({ agentId: "nobody" }))).code).toBe(Code.Unauthenticated);
    const doubting = createClient(AgentGateway, createGrpcTransport({ baseUrl }));
    expect((await failureOf(doubting.registerAgent({ agentId: "nobody" }))).message).toContain("self-signed certificate");
    await failureOf(grpcGateway(guarded.grpcPort).registerAgent({ agentId: "nobody" }));
    const health = await curl(`${baseUrl}/grpc.health.v1.Health/Check`, {}, "--cacert", cert);
    expect(health).toEqual({ status: "SERVING" });
  });

  test("the status says when the certificate expires", async () => {
    const certificateOf = async (one: Service) => {
      const { body } = await one.get<{ checks: { name: string; state: string; message: string }[] }>("/api/status");
      return body.checks.find(({ name, state }) => name === "grpc_certificate" && state !== "unknown");
    };
    const expiring = await eventually(() => certificateOf(guarded));
    expect(expiring).toMatchObject({
      state: "degraded",
      message: expect.stringMatching(/expires at 20\d\d-.*restart the service$/),
    });
    expect(await certificateOf(plain)).toBeUndefined();
    if (runtimeUnderTest() === "deno") return;
    const later = { GRPC_TLS_CERT: join(folder, "cert.pem"), GRPC_TLS_KEY: join(folder, "key.pem"), ...shiftedClock(2 * 86_400) };
    await using expired = await startService({ env: later });
    const check = await eventually(() => certificateOf(expired));
    expect(check).toMatchObject({ state: "failed", message: expect.stringContaining("expired at 20") });
  }, 120_000);

  test("an agent registers with its secret or with a key", async () => {
    const nodeOptions = { ca: readFileSync(join(folder, "cert.pem")) };
    const transport = createGrpcTransport({ baseUrl: `https://127.0.0.1:${guarded.grpcPort}`, nodeOptions });
    const gateway = createClient(AgentGateway, transport);
    expect((await failureOf(gateway.registerAgent({ agentId: "pm_default" }))).code).toBe(Code.Unauthenticated);
    const headers = { authorization: `Bearer ${key}` };
    expect((await gateway.registerAgent({ agentId: "pm_default" }, { headers })).sessionId).toMatch(/^[\w-]{40,}$/);
    await guarded.put("/api/agents/pm_default", { auth_enabled: true, auth_secret: "a secret of the agent" });
    const refused = await failureOf(gateway.registerAgent({ agentId: "pm_default" }));
    expect([refused.code, refused.rawMessage]).toEqual([Code.Unauthenticated, expect.stringContaining("secret")]);
    const { sessionId } = await gateway.registerAgent({ agentId: "pm_default", secret: "a secret of the agent" });
    expect(sessionId).toMatch(/^[\w-]{40,}$/);
  });
});

test("errors name what is wrong; messages have at most 4 MiB; deadlines apply", async () => {
  const gateway = grpcGateway(plain.grpcPort);
  const { sessionId } = await gateway.registerAgent({ agentId: "qa_default" });
  const invalid = await failureOf(gateway.memoryStore({ sessionId, key: "k", content: "c", scope: 1, ttlSeconds: -1 }));
  expect(invalid.code).toBe(Code.InvalidArgument);
  expect(invalid.details).toMatchObject([{ type: "google.rpc.BadRequest", value: expect.anything() }]);
  expect(Buffer.from((invalid.details[0] as { value: Uint8Array }).value).toString()).toContain("ttl_seconds");
  const large = await failureOf(gateway.completeTask({ sessionId, executionId: "x", result: "x".repeat(4 * 1024 * 1024) }));
  expect(large.code).toBe(Code.ResourceExhausted);
  const late = await failureOf(collect(gateway.receiveTasks({ sessionId }, { timeoutMs: 300 })));
  expect(late.code).toBe(Code.DeadlineExceeded);
  // The stream has ended, not only its reader.
  const again = await failureOf(collect(gateway.receiveTasks({ sessionId, maxInFlight: -1 })));
  expect(again.code).toBe(Code.InvalidArgument);
});

test("a deadline that is later than any timer does not end the call", async () => {
  const gateway = grpcGateway(plain.grpcPort);
  const { sessionId } = await gateway.registerAgent({ agentId: "qa_default" });
  for (const timeout of ["99999999H", "2147484S"])
    expect((await gateway.heartbeat({ sessionId }, { headers: { "grpc-timeout": timeout } })).expiresAt).toMatch(/^\d{4}-/);
  const url = `${plain.url}/signalbox.gateway.v1.AgentGateway/Heartbeat`;
  const headers = { "connect-timeout-ms": "9999999999" };
  const { status } = await plain.post(url.slice(plain.url.length), { sessionId }, { headers });
  expect(status).toBe(200);
});

test("the HTTP port names the content types that a call can have", async () => {
  const call = (type: string) =>
    plain.post("/signalbox.gateway.v1.AgentGateway/Heartbeat", "session_id=x", { headers: { "content-type": type } });
  for (const type of ["text/plain", "application/x-www-form-urlencoded"])
    expect(await call(type)).toMatchObject({
      status: 415,
      body: { error: `Content-Type must be application/json or application/proto; it is "${type}".` },
    });
});

test("an unknown name of an optional enum is refused instead of ignored", async () => {
  const agents = gatewayAt(plain.url);
  const { body: opened } = await agents.call("RegisterAgent", { agent_id: "qa_default" });
  const session_id = opened.sessionId;
  const scopes = "MEMORY_SCOPE_TASK = 1, MEMORY_SCOPE_AGENT = 2, MEMORY_SCOPE_PROJECT = 3, MEMORY_SCOPE_ORGANIZATIONAL = 4";
  expect(await agents.call("MemoryList", { session_id, scope: "agent" })).toMatchObject({
    code: "invalid_argument",
    body: { message: `scope: must be one of ${scopes}; it is "agent"` },
  });
  const search = await agents.call("MemorySearch", { session_id, query: "x", mode: "keyword" });
  expect(search.body.message).toMatch(/^mode: must be one of MEMORY_SEARCH_MODE_SEMANTIC = 1, /);
  for (const scope of ["MEMORY_SCOPE_UNSPECIFIED", "MEMORY_SCOPE_AGENT", 2, null])
    expect((await agents.call("MemoryList", { session_id, scope })).code).toBeNull();
  const path = "/signalbox.api.v1.KeyService/CreateKey";
  expect(await plain.post(path, { name: "k", scopes: ["KEY_SCOPE_READ", "write"] })).toMatchObject({
    status: 400,
    body: { message: expect.stringMatching(/^scopes\[1\]: must be one of .*KEY_SCOPE_READ.*; it is "write"$/) },
  });
});

test("health watches whether the service can serve, to the end", async () => {
  const watch = run(buf, [
    "curl",
    "--http2-prior-knowledge",
    "--protocol",
    "grpc",
    "-d",
    JSON.stringify({ service }),
    `http://127.0.0.1:${plain.grpcPort}/grpc.health.v1.Health/Watch`,
  ]);
  let seen = "";
  watch.child.stdout?.on("data", (text) => {
    seen += text;
  });
  await eventually(() => /"SERVING"/.test(seen));
  const stopped = plain.stop();
  await eventually(() => /"NOT_SERVING"/.test(seen));
  watch.child.kill();
  await watch.catch(() => {});
  expect((await stopped).code).toBe(0);
});

async function collect(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}
