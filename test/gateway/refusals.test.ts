import { Code, ConnectError } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { AgentGateway } from "../../examples/agent-typescript/gen/gateway_pb.js";
import { gateway } from "../harness/gateway.ts";
import { startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const secret = "a secret of the agent";

test("the watchdog shows each client and agent that is refused, also while a scanner sends other keys", async () => {
  const admin = "a-key-of-the-environment";
  const env = { TRUSTED_PROXIES: "127.0.0.1", WATCHDOG_ENABLED: "true", API_KEYS: admin };
  await using proxied = await startService({ env });
  const headersOf = (address: string, key?: string) => ({
    "content-type": "application/json",
    "x-forwarded-for": address,
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  });
  const read = (address: string, key: string, path = "/api/agents") =>
    fetch(`${proxied.url}${path}`, { headers: headersOf(address, key) }).then(({ status }) => status);
  const register = (address: string, key?: string) =>
    fetch(`${proxied.url}/signalbox.gateway.v1.AgentGateway/RegisterAgent`, {
      method: "POST",
      headers: headersOf(address, key),
      body: JSON.stringify({ agent_id: "guarded" }),
    }).then(async (response) => ((await response.json()) as { code: string }).code);
  const operator = { headers: { authorization: `Bearer ${admin}` } };
  const agent = { id: "guarded", name: "Guarded", role_id: "dev", prompt: "Help.", auth_enabled: true, auth_secret: secret };
  expect((await proxied.post("/api/agents", agent, operator)).status).toBe(201);
  const other = { name: "other", scopes: ["agent"], agent_ids: ["second"] };
  expect((await proxied.post("/api/agents", { ...agent, id: "second" }, operator)).status).toBe(201);
  const { key = "" } = (await proxied.post<{ key: string }>("/api/keys", other, operator)).body;
  expect(await read("192.0.2.7", "garbage-of-a-scanner")).toBe(401);
  expect(await read("192.0.2.7", "sbx_AAAAxxxxxxxx")).toBe(401);
  expect(await read("192.0.2.8", "an-old-key-of-the-environment", "/metrics")).toBe(401);
  expect(await read("192.0.2.9", "an-old-key-of-the-environment", "/plugins/acme/page")).toBe(401);
  expect(await register("192.0.2.10", "sbx_BBBByyyyyyyy")).toBe("unauthenticated");
  expect(await register("192.0.2.11")).toBe("unauthenticated");
  expect(await register("192.0.2.12", key)).toBe("permission_denied");
  await eventually(async () => {
    const entries = (await proxied.get<{ context: object; message: string }[]>("/api/watchdog", operator)).body;
    const refused = entries.filter(({ message }) => / was refused$/.test(message));
    // They are stored concurrently, in any order.
    const ofAll = [
      { key: null, address: "192.0.2.7" },
      { key: "sbx_AAAA…", address: "192.0.2.7" },
      { key: null, address: "192.0.2.8" },
      { key: null, address: "192.0.2.9" },
      { key: "sbx_BBBB…", address: "192.0.2.10" },
      { agent_id: "guarded", address: "192.0.2.11", reason: expect.stringContaining("Send the secret of the agent") },
      { agent_id: "guarded", address: "192.0.2.12", reason: 'The API key "other" cannot register the agent "guarded".' },
    ];
    expect(refused).toHaveLength(ofAll.length);
    for (const context of ofAll)
      expect(refused).toContainEqual(expect.objectContaining({ context: expect.objectContaining(context) }));
    return true;
  });
});

test("without API keys, an agent that does not send its secret is told to send it, and locks nobody out", async () => {
  await using service = await startService();
  const agent = { id: "guarded", name: "Guarded", role_id: "dev", prompt: "Help.", auth_enabled: true, auth_secret: secret };
  expect((await service.post("/api/agents", agent)).status).toBe(201);
  const { call } = gateway(service.url);
  for (let left = 12; left > 0; left--)
    expect(await call("RegisterAgent", { agent_id: "guarded" })).toMatchObject({
      code: "unauthenticated",
      body: { message: 'Send the secret of the agent "guarded".' },
    });
  expect((await call("RegisterAgent", { agent_id: "guarded", secret })).code).toBeNull();
});

test("a method or service that does not exist is answered with those that do, in each protocol", async () => {
  await using service = await startService();
  const baseUrl = `http://127.0.0.1:${service.grpcPort}`;
  const missing = (typeName: string, name: string) =>
    ({ ...AgentGateway.method.heartbeat, name, parent: { ...AgentGateway, typeName } }) as typeof AgentGateway.method.heartbeat;
  const noMethod = 'signalbox.gateway.v1.AgentGateway has no method "Nod". Its methods: RegisterAgent, ';
  const noService = 'There is no service "acme.v1.100%25". The services: ';
  const transports = [createGrpcTransport({ baseUrl }), createGrpcWebTransport({ baseUrl, httpVersion: "2" })];
  for (const transport of [...transports, createConnectTransport({ baseUrl, httpVersion: "2" })])
    for (const [method, text] of [
      [missing(AgentGateway.typeName, "Nod"), noMethod],
      [missing("acme.v1.100%25", "Nod"), noService],
    ] as const) {
      const error = await transport
        .unary(method, undefined, undefined, undefined, { sessionId: "none" })
        .catch(ConnectError.from);
      expect(error).toMatchObject({ code: Code.Unimplemented, rawMessage: expect.stringContaining(text) });
    }
});
