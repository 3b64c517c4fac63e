import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { gateway } from "../harness/gateway.ts";
import { startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

/** Which credentials give access to the gateway: the table of runtime/transports/README.md. */
const operator = "the-key-of-the-operator";
const secret = "a secret of the agent";
const repo = "octo/app";
let world: World;
const keys: Record<string, string> = {};

beforeAll(async () => {
  const limits = { RATE_LIMIT_DEFAULT: "10000", RATE_LIMIT_PRIVILEGED: "10000" };
  // The agents of these tests send no heartbeats.
  const env = { API_KEYS: operator, HOST: "127.0.0.1", ...limits, EXECUTION_LEASE_SECONDS: "600" };
  world = await startWorld({ tasks: ["outside"], env, apiKey: operator });
  const { service } = world;
  for (const id of ["plain", "other", "chief"]) {
    const trust_level = id === "chief" ? "privileged" : "default";
    await service.post("/api/agents", { id, name: id, role_id: "dev", prompt: "Help.", trust_level });
  }
  const guarded = { id: "guarded", name: "Guarded", role_id: "dev", prompt: "Help.", auth_enabled: true, auth_secret: secret };
  expect((await service.post("/api/agents", guarded)).status).toBe(201);
  const make = async (name: string, members: object) => {
    const made = await service.post<{ key: string }>("/api/keys", { name, ...members });
    expect(made.status).toBe(201);
    keys[name] = made.body.key;
  };
  await make("agents", { scopes: ["agent"] });
  await make("bound", { scopes: ["agent"], agent_ids: ["plain", "chief"] });
  await make("reader", { scopes: ["read"] });
  await make("boss", { scopes: ["admin"] });
  Object.assign(keys, { operator, wrong: "sbx_no-such-key" });
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

const door = (key?: string) => gateway(world.service.url, key && `Bearer ${key}`);
const register = (agent_id: string, key?: string, given = "") =>
  door(key && keys[key]).call("RegisterAgent", { agent_id, secret: given });
const session = async (agent_id: string) => String((await register(agent_id, "agents")).body.sessionId);

describe("with API keys, RegisterAgent", () => {
  test.each([
    // agent, key, secret, answer
    ["plain", undefined, "", "unauthenticated"],
    ["plain", undefined, secret, "unauthenticated"],
    ["plain", "agents", "", null],
    ["plain", "bound", "", null],
    ["plain", "boss", "", null],
    ["plain", "operator", "", null],
    ["plain", "reader", "", "permission_denied"],
    ["plain", "wrong", "", "unauthenticated"],
    ["other", "bound", "", "permission_denied"],
    ["guarded", undefined, "", "unauthenticated"],
    ["guarded", undefined, "another secret", "unauthenticated"],
    ["guarded", undefined, secret, null],
    ["guarded", "agents", "", null],
    ["guarded", "reader", secret, null],
    ["guarded", "wrong", secret, "unauthenticated"],
    ["nobody", undefined, "", "unauthenticated"],
    ["nobody", undefined, secret, "unauthenticated"],
    ["nobody", "bound", "", "permission_denied"],
    ["nobody", "agents", "", "not_found"],
  ])("of %s with the key %s and the secret %j answers %s", async (agent, key, given, code) => {
    expect((await register(agent, key, given)).code).toBe(code);
  });

  test("does not reveal whether an agent exists", async () => {
    for (const given of ["", "a guess"]) {
      const [there, absent] = [await register("guarded", undefined, given), await register("nobody", undefined, given)];
      expect(String(absent.body.message)).toBe(String(there.body.message).replace("guarded", "nobody"));
    }
  });

  test("without proof adds no capabilities", async () => {
    await door().call("RegisterAgent", { agent_id: "plain", capabilities: ["takeover"] });
    const { body } = await world.service.get<{ capabilities: string[] }>("/api/agents/plain");
    expect(body.capabilities).toEqual([]);
    await door(keys.agents).call("RegisterAgent", { agent_id: "plain", capabilities: ["testing"] });
    expect((await world.service.get<{ capabilities: string[] }>("/api/agents/plain")).body.capabilities).toEqual(["testing"]);
  });

  test("opens a session that ends with its key, and with the secret", async () => {
    const made = await world.service.post<{ id: number; key: string }>("/api/keys", { name: "passing", scopes: ["agent"] });
    keys.passing = made.body.key;
    const session_id = String((await register("plain", "passing")).body.sessionId);
    const beat = async (id: string) => (await door().call("Heartbeat", { session_id: id })).code;
    expect(await beat(session_id)).toBeNull();
    await world.service.del(`/api/keys/${made.body.id}`);
    expect(await beat(session_id)).toBe("unauthenticated");
    const bySecret = String((await register("guarded", undefined, secret)).body.sessionId);
    expect(await beat(bySecret)).toBeNull();
    await world.service.put("/api/agents/guarded", { auth_secret: "a new secret" });
    expect(await beat(bySecret)).toBe("unauthenticated");
    await world.service.put("/api/agents/guarded", { auth_secret: secret });
  });

  test("a key works until expires_at; invalid bounds are refused by name", async () => {
    // With another key, if a busy machine uses it only after it has expired.
    const session_id = await eventually(async () => {
      const at = new Date(Date.now() + 4_000).toISOString();
      const members = { name: `until ${at}`, scopes: ["agent", "read"], expires_at: at };
      const made = await world.service.post<{ key: string }>("/api/keys", members);
      keys.short = made.body.key;
      const { code, body } = await register("plain", "short");
      const beat = await door().call("Heartbeat", { session_id: body.sessionId });
      const shown = expect.objectContaining({ expires_at: at, agent_ids: null });
      const isInTime = Date.now() < Date.parse(at);
      if (isInTime) expect([made.status, made.body, code, beat.code]).toEqual([201, shown, null, null]);
      return isInTime && String(body.sessionId);
    });
    await eventually(async () => expect((await register("plain", "short")).code).toBe("unauthenticated"));
    expect((await door().call("Heartbeat", { session_id })).code).toBe("unauthenticated");
    const headers = { authorization: `Bearer ${keys.short}` };
    expect((await fetch(`${world.service.url}/api/agents`, { headers })).status).toBe(401);
    for (const [members, named] of [
      [{ scopes: ["agent"], expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
      [{ scopes: ["agent"], expires_at: "tomorrow" }, "expires_at"],
      // In UTC, this is in the year 10000.
      [{ scopes: ["agent"], expires_at: "9999-12-31T23:59:59-05:00" }, "expires_at"],
      [{ scopes: ["read"], agent_ids: ["plain"] }, "agent_ids"],
      [{ scopes: ["agent"], agent_ids: ["nobody"] }, "agent_ids"],
      [{ scopes: ["agent"], agent_ids: [] }, "agent_ids"],
    ] as const) {
      const refused = await world.service.post<{ error: string }>("/api/keys", { name: "no", ...members });
      expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining(named)]);
    }
  });
});

describe("with API keys, a memory", () => {
  const store = async (agent: string, key: string, scope = "MEMORY_SCOPE_ORGANIZATIONAL") =>
    door().call("MemoryStore", { session_id: await session(agent), key, content: `about ${key}`, scope });
  const remove = async (agent: string, key: string) =>
    (await door().call("MemoryDelete", { session_id: await session(agent), key })).code;

  test("is deleted by the agent that wrote it, and by a privileged one", async () => {
    expect((await store("plain", "first")).code).toBeNull();
    expect((await store("plain", "second")).code).toBeNull();
    expect(await remove("other", "first")).toBe("permission_denied");
    expect(await remove("plain", "first")).toBeNull();
    expect(await remove("chief", "second")).toBeNull();
  });

  test("of the operator is read by agents and not deleted", async () => {
    const made = { key: "rules", content: "the rules of the house", scope: "organizational" };
    expect((await world.service.post("/api/memory", made)).status).toBe(201);
    const session_id = await session("plain");
    expect((await door().call("MemoryRetrieve", { session_id, key: "rules" })).code).toBeNull();
    expect(await remove("plain", "rules")).toBe("permission_denied");
    // Not even after another memory with that name belonged to the agent.
    await world.service.del("/api/memory/rules");
    expect((await store("plain", "rules")).code).toBeNull();
    await world.service.del("/api/memory/rules");
    expect((await world.service.post("/api/memory", made)).status).toBe(201);
    expect(await remove("plain", "rules")).toBe("permission_denied");
  });

  test("that an agent may not see is not found", async () => {
    expect((await store("plain", "diary", "MEMORY_SCOPE_AGENT")).code).toBeNull();
    expect(await remove("other", "diary")).toBe("not_found");
  });
});

test("a task is completed and failed by the session that holds it, and by no other", async () => {
  const mine = String((await register("pm_default", "agents")).body.sessionId);
  const stream = await door().receive({ session_id: mine }, world.service);
  try {
    const { body } = await world.service.webhook(issueOpened({ repo, number: 1 }));
    await eventually(() => expect(stream.messages).toHaveLength(1));
    const execution_id = body.executions?.[0]?.id ?? "";
    for (const agent of ["pm_default", "other", "chief"]) {
      const session_id = await session(agent);
      const complete = await door().call("CompleteTask", { session_id, execution_id, result: "Taken over." });
      const fail = await door().call("FailTask", { session_id, execution_id, error: "Taken over." });
      expect([complete.code, fail.code]).toEqual(["not_found", "not_found"]);
    }
    expect((await door().call("CompleteTask", { session_id: mine, execution_id, result: "Done." })).code).toBeNull();
  } finally {
    stream.close();
  }
});

test("ten wrong secrets of a stranger do not lock out the agent with the right one, nor another agent, nor a key", async () => {
  const from = (address: string, given: string, agent_id = "guarded", authorization = "") =>
    fetch(`${proxied.url}/signalbox.gateway.v1.AgentGateway/RegisterAgent`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address, ...(authorization && { authorization }) },
      body: JSON.stringify({ agent_id, secret: given }),
    }).then(async (response) => (response.ok ? null : ((await response.json()) as { code: string }).code));
  await using proxied = await startService({ env: { TRUSTED_PROXIES: "127.0.0.1", WATCHDOG_ENABLED: "true" } });
  const agent = { id: "guarded", name: "Guarded", role_id: "dev", prompt: "Help.", auth_enabled: true, auth_secret: secret };
  expect((await proxied.post("/api/agents", agent)).status).toBe(201);
  const guesses = await Promise.all(Array.from({ length: 10 }, (_, i) => from("192.0.2.7", `guess ${i}`)));
  expect(new Set(guesses)).toEqual(new Set(["unauthenticated"]));
  expect(await from("192.0.2.7", "one more")).toBe("resource_exhausted");
  // One entry for all of them.
  await eventually(async () => {
    const entries = (await proxied.get<{ context: object; message: string }[]>("/api/watchdog")).body;
    const reason = 'The secret of the agent "guarded" is wrong.';
    expect(entries.filter(({ context }) => (context as { reason?: string }).reason === reason)).toMatchObject([
      { message: "an agent was refused", context: { agent_id: "guarded", address: "192.0.2.7", count: 10 } },
    ]);
    return true;
  });
  expect(await from("192.0.2.8", "a guess from elsewhere")).toBe("unauthenticated");
  expect(await from("192.0.2.7", secret)).toBeNull();
  expect(await from("192.0.2.8", secret)).toBeNull();
  expect(await from("192.0.2.7", "and another")).toBe("resource_exhausted");
  // Another agent is not affected, and no address can be pretended without the proxy.
  expect((await proxied.post("/api/agents", { ...agent, id: "second" })).status).toBe(201);
  expect(await from("192.0.2.7", secret, "second")).toBeNull();
  expect(await from("192.0.2.8, 192.0.2.7", "a forged address")).toBe("resource_exhausted");
  // A replica that has not seen the right secret yet counts the same guesses, and accepts it.
  await proxied.restart();
  expect(await from("192.0.2.7", "and another")).toBe("resource_exhausted");
  expect(await from("192.0.2.7", secret)).toBeNull();
  // Neither guessed keys nor guessed secrets lock out a key.
  const made = await proxied.post<{ key: string }>("/api/keys", { name: "k", scopes: ["agent", "read"] });
  const keys = Array.from({ length: 50 }, (_, i) => from("192.0.2.7", "", "guarded", `Bearer sbx_guess-${i}`));
  expect(new Set(await Promise.all(keys))).toEqual(new Set(["unauthenticated"]));
  await eventually(async () => {
    const headers = { authorization: `Bearer ${made.body.key}` };
    const entries = (await proxied.get<{ message: string; context: object }[]>("/api/watchdog", { headers })).body;
    expect(entries.filter(({ message }) => message === "a request was refused")).toMatchObject([
      { context: { reason: "The API key is not valid, has expired, or was revoked.", key: "sbx_gues…", count: 50 } },
    ]);
    return true;
  });
  expect(await from("192.0.2.7", "", "guarded", `Bearer ${made.body.key}`)).toBeNull();
});

test("without API keys an agent registers without a secret, unless it has one, and may delete what it sees", async () => {
  await using open = await startService({ seed: true });
  const agents = gateway(open.url);
  const { code, body } = await agents.call("RegisterAgent", { agent_id: "pm_default" });
  expect(code).toBeNull();
  expect((await agents.call("RegisterAgent", { agent_id: "nobody" })).code).toBe("not_found");
  await open.post("/api/memory", { key: "rules", content: "the rules", scope: "organizational" });
  expect((await agents.call("MemoryDelete", { session_id: String(body.sessionId), key: "rules" })).code).toBeNull();
  await open.put("/api/agents/qa_default", { auth_enabled: true, auth_secret: secret });
  expect((await agents.call("RegisterAgent", { agent_id: "qa_default" })).code).toBe("unauthenticated");
  // The first key ends the sessions that were opened without a proof.
  expect((await open.post("/api/keys", { name: "first", scopes: ["admin"] })).status).toBe(201);
  expect((await agents.call("Heartbeat", { session_id: String(body.sessionId) })).code).toBe("unauthenticated");
});
