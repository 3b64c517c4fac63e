import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Gateway, gateway } from "../harness/gateway.ts";
import { eventually, hourLasts, waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const repo = "octo/app";
const secret = "a secret of the agent";
let world: World;
let agents: Gateway;

beforeAll(async () => {
  // The agents of these tests send no heartbeats.
  const env = { RATE_LIMIT_DEFAULT: "1000", RATE_LIMIT_TRUSTED: "5", EXECUTION_LEASE_SECONDS: "600" };
  world = await startWorld({ tasks: ["outside"], env });
  agents = gateway(world.service.url);
  const made = [
    await world.service.put("/api/agents/pm_default", { auth_enabled: true, auth_secret: secret }),
    await world.service.post("/api/agents", { id: "other", name: "Other", role_id: "dev", prompt: "Help." }),
    await world.service.post("/api/agents", {
      id: "slow",
      name: "Slow",
      role_id: "dev",
      prompt: "Help.",
      trust_level: "trusted",
    }),
  ];
  expect(made.map(({ status }) => status)).toEqual([200, 201, 201]);
});
afterAll(() => world?.[Symbol.asyncDispose]());

const register = async (agent_id = "pm_default", given = agent_id === "pm_default" ? secret : "") => {
  const { body } = await agents.call("RegisterAgent", { agent_id, secret: given });
  return String(body.sessionId);
};
const open = async (number: number) => {
  const { body } = await world.service.webhook(issueOpened({ repo, number }));
  return { event_id: body.event_id, id: body.executions?.[0]?.id ?? "" };
};
const commentsOn = (number: number) => world.tracker.comments(repo, number).map(({ body }) => body);

test("registers with the right secret only", async () => {
  const good = await agents.call("RegisterAgent", { agent_id: "pm_default", secret, version: "1.0" });
  expect(good.code).toBeNull();
  expect(good.body).toMatchObject({ trustLevel: "TRUST_LEVEL_DEFAULT", requestsPerMinute: 1000 });
  expect((await agents.call("RegisterAgent", { agent_id: "pm_default", secret: "wrong secret" })).code).toBe("unauthenticated");
  expect((await agents.call("RegisterAgent", { agent_id: "pm_default" })).code).toBe("unauthenticated");
  expect((await agents.call("RegisterAgent", { agent_id: "nobody" })).code).toBe("not_found");
  expect((await agents.call("RegisterAgent", { agent_id: "Not An Id" })).code).toBe("invalid_argument");
  await world.service.put("/api/agents/other", { auth_enabled: true });
  for (const guess of ["", "wrong secret"])
    expect((await agents.call("RegisterAgent", { agent_id: "other", secret: guess })).code).toBe("unauthenticated");
  await world.service.put("/api/agents/other", { auth_enabled: false });
});

test.each([
  "Heartbeat",
  "MemoryStore",
  "MemoryRetrieve",
  "MemoryList",
  "MemorySearch",
  "MemoryDelete",
  "CompleteTask",
  "FailTask",
])("%s without a session is not authenticated", async (method) => {
  for (const message of [{}, { session_id: "" }]) expect((await agents.call(method, message)).code).toBe("unauthenticated");
});

test("a session ends with the agent's secret", async () => {
  const session_id = await register();
  expect((await agents.call("Heartbeat", { session_id })).code).toBeNull();
  await world.service.put("/api/agents/pm_default", { auth_secret: "another secret" });
  expect((await agents.call("Heartbeat", { session_id })).code).toBe("unauthenticated");
  await world.service.put("/api/agents/pm_default", { auth_secret: secret });
  expect((await agents.call("Heartbeat", { session_id: "unknown" })).code).toBe("unauthenticated");
});

test("calls over the limit of the trust level are refused with a retry time", async () => {
  const session_id = await register("slow");
  const codes: (string | null)[] = [];
  let last = await agents.call("Heartbeat", { session_id });
  for (let i = 0; i < 6; i++) {
    codes.push(last.code);
    last = await agents.call("Heartbeat", { session_id });
  }
  expect(codes.filter((code) => code === null)).toHaveLength(5);
  expect(last.code).toBe("resource_exhausted");
  expect(Number(last.retryAfter)).toBeGreaterThan(0);
});

test("memories: agents do not see each other's private ones, HTTP sees all", async () => {
  const [mine, theirs] = [await register(), await register("other")];
  const store = (key: string, scope: string) =>
    agents.call("MemoryStore", { session_id: mine, key, content: `what ${key} means to the webshop`, scope });
  expect((await store("cherries", "MEMORY_SCOPE_AGENT")).code).toBeNull();
  expect((await store("apples", "MEMORY_SCOPE_ORGANIZATIONAL")).code).toBeNull();
  expect((await store("cherries", "MEMORY_SCOPE_AGENT")).code).toBe("already_exists");
  expect((await store("none", "MEMORY_SCOPE_PROJECT")).body.message).toMatch(/project_id/);
  const scopes = "MEMORY_SCOPE_TASK = 1, MEMORY_SCOPE_AGENT = 2, MEMORY_SCOPE_PROJECT = 3, MEMORY_SCOPE_ORGANIZATIONAL = 4";
  expect((await agents.call("MemoryStore", { session_id: mine, key: "none", content: "none", scope: 9 })).body.message).toBe(
    `scope: must be one of ${scopes}; it is 9`,
  );
  for (const scope of ["", "agent", "MEMORY_SCOPE_UNSPECIFIED"])
    expect((await store("none", scope)).body.message).toBe(`scope: is required; it must be one of ${scopes}`);
  for (const method of ["MemoryRetrieve", "MemoryDelete"])
    expect((await agents.call(method, { session_id: mine })).body).toMatchObject({
      code: "invalid_argument",
      message: "key: must not be empty",
    });
  const keys = async (session_id: string) =>
    ((await agents.call("MemoryList", { session_id })).body.memories as { key: string }[]).map(({ key }) => key).sort();
  expect(await keys(mine)).toEqual(["apples", "cherries"]);
  expect(await keys(theirs)).toEqual(["apples"]);
  expect((await agents.call("MemoryRetrieve", { session_id: theirs, key: "cherries" })).code).toBe("not_found");
  expect((await agents.call("MemoryDelete", { session_id: theirs, key: "cherries" })).code).toBe("not_found");
  expect((await world.service.get("/api/memory/cherries")).status).toBe(200);
  const found = await agents.call("MemorySearch", {
    session_id: mine,
    query: "cherries webshop",
    mode: "MEMORY_SEARCH_MODE_KEYWORD",
  });
  expect((found.body.memories as { key: string }[])[0]?.key).toBe("cherries");
  expect((await agents.call("MemoryDelete", { session_id: mine, key: "cherries" })).code).toBeNull();
  expect((await world.service.get("/api/memory/cherries")).status).toBe(404);
});

test("a connected agent takes the task in place of the model, and its result is posted once", async () => {
  const session_id = await register();
  const stream = await agents.receive({ session_id }, world.service);
  const asked = world.model.chats().length;
  try {
    const { id, event_id } = await open(1);
    const task = await eventually(() => {
      expect(stream.messages).toHaveLength(1);
      return stream.messages[0];
    });
    expect(task).toMatchObject({ executionId: id, taskId: "outside", canonicalTrigger: "issue.created" });
    const result = "Written by an agent of our own.";
    expect((await agents.call("CompleteTask", { session_id, execution_id: id, result })).code).toBeNull();
    expect((await agents.call("CompleteTask", { session_id, execution_id: id, result })).code).toBe("not_found");
    const [execution] = await waitForExecutions(world.service, { event_id });
    expect(execution).toMatchObject({ state: "succeeded", result, agent_id: "pm_default" });
    expect(commentsOn(1)).toEqual([expect.stringContaining(result)]);
    expect(world.model.chats()).toHaveLength(asked);
  } finally {
    stream.close();
  }
});

test("tokens reported by an agent count towards usage and budgets; over budget, new and already offered tasks are held", async () => {
  const { service } = world;
  await hourLasts();
  expect((await service.put("/api/agents/pm_default", { policy: { day_tokens: 1_000 } })).status).toBe(200);
  const session_id = await register();
  const stream = await agents.receive({ session_id }, world.service);
  const usage = async () => (await service.get<{ tokens: { prompt: number; total: number } }>("/api/usage")).body.tokens;
  const before = await usage();
  try {
    const sent = await Promise.all([11, 12, 13, 14].map(open));
    const execution_id = await eventually(() => stream.messages[0]?.executionId as string);
    const others = sent.filter(({ id }) => id !== execution_id);
    await eventually(async () => {
      const waiting = await Promise.all(others.map(({ event_id }) => waitForExecutions(service, { event_id, state: "queued" })));
      return waiting.flat().every(({ waiting_for }) => waiting_for === "the connected agent pm_default");
    });
    const used = { prompt_tokens: 900, completion_tokens: 100, cost_usd: 0.5 };
    expect((await agents.call("CompleteTask", { session_id, execution_id, result: "Done.", ...used })).code).toBeNull();
    const first = sent.find(({ id }) => id === execution_id);
    expect((await waitForExecutions(service, { event_id: first?.event_id ?? "" }))[0]).toMatchObject({
      state: "succeeded",
      prompt_tokens: 900,
      completion_tokens: 100,
      cost_usd: 0.5,
    });
    expect((await usage()).total).toBe(before.total + 1_000);
    for (const { event_id } of others)
      expect((await waitForExecutions(service, { event_id, state: "held" }))[0]).toMatchObject({
        held_reason: expect.stringMatching(
          /1000 tokens were used by the agent today.*limit is 1000 \(day_tokens in the policy of the agent\)/,
        ),
      });
    expect(stream.messages).toHaveLength(1);
    await service.put("/api/agents/pm_default", { policy: {} });
    const [released] = others;
    expect((await service.post(`/api/task-executions/${released?.id}/release`)).status).toBe(200);
    await eventually(() => stream.messages.some((one) => one.executionId === released?.id));
    const failed = { session_id, execution_id: released?.id, error: "no idea", prompt_tokens: 7 };
    expect((await agents.call("FailTask", failed)).code).toBeNull();
    expect((await waitForExecutions(service, { event_id: released?.event_id ?? "" }))[0]).toMatchObject({
      state: "failed",
      prompt_tokens: 7,
    });
  } finally {
    stream.close();
  }
});

test("the task of a broken stream returns to the queue, and the model runs it", async () => {
  const session_id = await register();
  const stream = await agents.receive({ session_id }, world.service);
  const { event_id } = await open(2);
  await eventually(() => expect(stream.messages).toHaveLength(1));
  stream.close();
  const [execution] = await waitForExecutions(world.service, { event_id });
  expect(execution?.state).toBe("succeeded");
  expect(commentsOn(2)).toHaveLength(1);
});

test("a task that fails for good names the agent that failed it", async () => {
  const session_id = await register();
  const stream = await agents.receive({ session_id }, world.service);
  try {
    const { id, event_id } = await open(3);
    await eventually(() => expect(stream.messages).toHaveLength(1));
    expect((await agents.call("FailTask", { session_id, execution_id: id, error: "no idea" })).code).toBeNull();
    const [execution] = await waitForExecutions(world.service, { event_id });
    expect(execution).toMatchObject({ state: "failed", error: "pm_default: no idea" });
    expect(commentsOn(3)).toHaveLength(0);
  } finally {
    stream.close();
  }
});

test("a result for a task that was cancelled, and a result without visible text, say what happened", async () => {
  const session_id = await register();
  const stream = await agents.receive({ session_id }, world.service);
  try {
    const { id } = await open(4);
    await eventually(() => expect(stream.messages).toHaveLength(1));
    expect((await world.service.post(`/api/task-executions/${id}/cancel`)).status).toBe(200);
    const { code, body } = await agents.call("CompleteTask", { session_id, execution_id: id, result: "Too late." });
    expect({ code, message: body.message }).toEqual({
      code: "not_found",
      message: expect.stringContaining("completed or cancelled"),
    });
    const next = await open(5);
    await eventually(() => expect(stream.messages).toHaveLength(2));
    expect((await agents.call("CompleteTask", { session_id, execution_id: next.id, result: "" })).code).toBeNull();
    const [execution] = await waitForExecutions(world.service, { event_id: next.event_id });
    expect(execution).toMatchObject({ state: "failed", error: expect.stringContaining("no visible text") });
    expect(commentsOn(5)).toHaveLength(0);
  } finally {
    stream.close();
  }
});
