import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { changeAuditEntry } from "../harness/database-faults.ts";
import { freshDatabase } from "../harness/databases.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { type Service, startService } from "../harness/service.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { issueOf, startWorld } from "../harness/world.ts";

const operator = "the-key-of-the-operator";
const env = { API_KEYS: operator, HOST: "127.0.0.1", ENCRYPTION_KEY: "00".repeat(32) };
type Entry = { seq: number; actor: string; operation: string; object: string; request_id: string } & Record<
  "before" | "after",
  never
>;
let service: Service;
beforeAll(async () => {
  service = await startService({ apiKey: operator, env, seed: true });
}, 120_000);
afterAll(() => service?.close());

const listed = async (query = "", of = service) => (await of.get<Entry[]>(`/api/audit-log?${query}`)).body;
const verify = async (of = service) =>
  (await of.get<{ state: string; entries: number; broken_at: number | null }>("/api/audit-log/verify")).body;

test("an entry has the request id of a call over MCP", async () => {
  const input = { id: "by_mcp", name: "M", role_id: "qa", prompt: "p" };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "agents_create", arguments: input } };
  const headers = { accept: "application/json, text/event-stream", "x-request-id": "req-mcp" };
  expect((await service.post("/mcp", call, { headers })).status).toBe(200);
  expect(await listed("object=agents/by_mcp")).toMatchObject([{ operation: "agents.create", request_id: "req-mcp" }]);
});

test("each change is an entry with actor, operation, object, before, after and request id", async () => {
  const body = { id: "auditor", name: "A", role_id: "qa", prompt: "p" };
  expect((await service.post("/api/agents", body, { headers: { "x-request-id": "req-1" } })).status).toBe(201);
  await service.put("/api/agents/auditor", { name: "B" });
  await service.del("/api/agents/auditor");
  const [removed, updated, created] = await listed("object=agents/auditor");
  expect(created).toMatchObject({
    actor: "API_KEYS",
    operation: "agents.create",
    before: null,
    after: { name: "A" },
    request_id: "req-1",
  });
  expect(updated).toMatchObject({ operation: "agents.update", before: { name: "A" }, after: { name: "B" } });
  expect(removed).toMatchObject({ operation: "agents.delete", before: { name: "B" }, after: null });
});

test("an object that has a name instead of an id is recorded before it is changed and deleted", async () => {
  const endpoint = "https://tools.example.com/a";
  const tool = { name: "look_up", provider: "audited", description: "A", category: "test", parameters: {}, endpoint };
  expect((await service.post("/api/tools", tool)).status).toBe(201);
  await service.put("/api/tools/audited.look_up", { endpoint: "https://tools.example.com/b" });
  await service.del("/api/tools/audited.look_up");
  const [deleted, updated] = await listed("object=tools/audited.look_up");
  expect(updated).toMatchObject({ before: { endpoint }, after: { endpoint: "https://tools.example.com/b" } });
  expect(deleted).toMatchObject({ operation: "tools.delete", before: { endpoint: "https://tools.example.com/b" }, after: null });
});

test("reads, refusals and webhooks make no entry", async () => {
  const before = (await verify()).entries;
  await service.get("/api/agents");
  expect((await service.post("/api/agents", { id: "x" })).status).toBe(400);
  expect((await service.del("/api/agents/none")).status).toBe(404);
  expect((await service.post("/api/memory/search", { query: "x" })).status).toBe(200);
  expect((await service.webhook({ action: "opened" }, { event: "issues" })).status).toBe(200);
  expect((await verify()).entries).toBe(before);
});

test("keys, integrations, mappings and memories are recorded, their secrets masked", async () => {
  const key = await service.post<{ id: number; key: string }>("/api/keys", { name: "audited", scopes: ["read"] });
  await service.post("/api/agents", {
    id: "holder",
    name: "H",
    role_id: "qa",
    prompt: "p",
    auth_enabled: true,
    auth_secret: "s3cret-agent",
  });
  await service.put("/api/agents/holder", { auth_secret: "s3cret-other" });
  const credentials = { token: "s3cret-token", webhook_secret: "s3cret-hook" };
  expect((await service.post("/api/integrations", { source: "alpha", name: "I", credentials })).status).toBe(201);
  const auth = { method: "token", header: "X-A", secret: "s3cret-mapping" };
  const mapping = { source: "alpha", event_type: "issues", canonical_trigger: "issue.created", auth };
  expect((await service.post("/api/webhook-mappings", mapping)).status).toBe(201);
  expect((await service.post("/api/memory", { key: "m", content: "c", scope: "organizational" })).status).toBe(201);
  await service.del("/api/memory/m");
  expect((await listed("object=memory/m")).map(({ operation }) => operation)).toEqual(["memory.delete", "memory.create"]);
  await service.del(`/api/keys/${key.body.id}`);
  const entries = await listed("limit=50");
  const operations = entries.map(({ operation }) => operation);
  for (const one of ["keys.create", "keys.revoke", "agents.update", "integrations.create", "webhook-mappings.create"])
    expect(operations).toContain(one);
  expect(entries.find(({ operation }) => operation === "keys.revoke")).toMatchObject({
    object: `keys/${key.body.id}`,
    before: { name: "audited" },
  });
  expect(JSON.stringify(entries)).not.toMatch(/s3cret/);
  expect(JSON.stringify(entries)).not.toContain(key.body.key);
});

test("filters: actor, operation, times", async () => {
  const maker = await service.post<{ key: string }>("/api/keys", { name: "maker", scopes: ["write"] });
  const headers = { authorization: `Bearer ${maker.body.key}` };
  await service.post("/api/agents/seed", {}, { headers });
  expect(await listed("actor=maker")).toMatchObject([{ actor: "maker", operation: "agents.seed", object: "agents" }]);
  expect(await listed("operation=agents.delete&from=2999-01-01T00:00:00Z")).toEqual([]);
  expect((await service.get("/api/audit-log", { headers })).status).toBe(403);
});

test("the chain is intact after twenty concurrent changes", async () => {
  const { entries } = await verify();
  await Promise.all(
    Array.from({ length: 20 }, (_, i) => service.post("/api/agents", { id: `a${i}`, name: "n", role_id: "qa", prompt: "p" })),
  );
  expect(await verify()).toMatchObject({ state: "intact", entries: entries + 20, broken_at: null });
});

describe("on PostgreSQL", { tags: ["postgres"] }, () => {
  test("two replicas write one chain", async () => {
    await using second = await startService({ databaseUrl: String(service.databaseUrl), apiKey: operator, env });
    const { entries } = await verify();
    const make = (i: number) =>
      (i % 2 ? service : second).post("/api/agents", { id: `r${i}`, name: "n", role_id: "qa", prompt: "p" });
    await Promise.all(Array.from({ length: 40 }, (_, i) => make(i)));
    for (const one of [service, second]) expect(await verify(one)).toMatchObject({ state: "intact", entries: entries + 40 });
  });
});

test("signalbox audit verify exits with 1 once an entry was changed", { tags: ["postgres"] }, async () => {
  await using database = await freshDatabase("migrated");
  await using own = await startService({ databaseUrl: database.url });
  for (const id of ["first", "second"])
    expect((await own.post("/api/agents", { id, name: "n", role_id: "qa", prompt: "p" })).status).toBe(201);
  const verified = async () => {
    const command = { args: ["audit", "verify"], env: { SIGNALBOX_URL: own.url }, cwd: own.folder };
    const child = run(runtimeUnderTest(), "runtime/cli/main.ts", command);
    const { code } = await child.ended;
    return [code, child.logs()];
  };
  expect(await verified()).toEqual([0, expect.stringContaining('"state": "intact"')]);
  await changeAuditEntry(database, 1);
  const [code, text] = await verified();
  expect([code, text]).toEqual([1, expect.stringMatching(/"broken_at": 1,.*The audit log is broken/s)]);
});

test("texts that an erasure removes are not in the audit log, which keeps its entries", async () => {
  // The run about the second issue fails, so that it can be restarted.
  const script = (request: ChatRequest) => ({ content: issueOf(request) === "octo/app#2" ? "" : "A kumquat of the model." });
  await using world = await startWorld({ tasks: ["first"], script, env: { EXECUTION_RETRY_LIMIT: "0" } });
  const run = async (number: number, state: "succeeded" | "failed") => {
    const { body } = await world.service.webhook(issueOpened({ repo: "octo/app", number, title: "Kumquat", body: "kumquats" }));
    const [execution] = await waitForExecutions(world.service, { event_id: body.event_id, state });
    return { event: body.event_id, execution: execution?.id };
  };
  const { event } = await run(1, "succeeded");
  const { execution } = await run(2, "failed");
  const issue = { issue: "octo/app#1" };
  const changes = {
    "tasks.restart": `/api/tasks/${execution}/restart`,
    "webhook-events.replay": `/api/webhook-events/${event}/replay`,
    "tools.execute": "/api/tools/alpha.get_issue/execute",
    "llm.chat": "/api/llm/chat",
    "memory.create": "/api/memory",
    "memory.delete": "/api/memory/m",
  };
  const bodies: Record<string, object> = {
    "tools.execute": { parameters: issue },
    "llm.chat": { agent_id: "pm_default", messages: [{ role: "user", content: "Hello" }] },
    "memory.create": { key: "m", content: "a kumquat", scope: "organizational" },
  };
  for (const [operation, path] of Object.entries(changes)) {
    const { status } =
      operation === "memory.delete" ? await world.service.del(path) : await world.service.post(path, bodies[operation]);
    expect([operation, status]).toEqual([operation, expect.toSatisfy((code: number) => code < 300)]);
  }
  const entries = await listed("limit=50", world.service);
  expect(entries.map(({ operation }) => operation)).toEqual(expect.arrayContaining(Object.keys(changes)));
  expect(JSON.stringify(entries)).not.toMatch(/kumquat/i);
  const replayed = entries.find(({ operation }) => operation === "webhook-events.replay");
  expect(replayed).toMatchObject({ before: { id: event, subject: "alpha:octo/app#1", outcome: "dispatched" } });
  const executed = entries.find(({ operation }) => operation === "tools.execute");
  expect(executed).toMatchObject({ object: "tools/alpha.get_issue", after: { status: "succeeded" } });
  const deleted = entries.find(({ operation }) => operation === "memory.delete");
  expect(deleted).toMatchObject({ before: { key: "m", scope: "organizational" } });
});
