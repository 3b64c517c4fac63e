import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { testOnDatabases } from "../harness/on-databases.ts";
import { root } from "../harness/process.ts";
import { ownRedis } from "../harness/redis.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { issueOf, plainScript, startWorld, type World } from "../harness/world.ts";

type Body = Record<string, unknown>;
interface Listed {
  readonly key: string;
}
const create = (service: Service, body: Body) => service.post<Body>("/api/memory", body);
const path = (key: string) => `/api/memory/${encodeURIComponent(key)}`;
const keysOf = (body: unknown) => (body as Listed[]).map(({ key }) => key);
/** There is no Redis at the default address, so that the test does not depend on the machine. */
const noRedis = { EMBEDDING_DIMENSION: "256" };

describe("prompts", () => {
  let world: World;
  let prompted: ChatRequest | undefined;
  const promptOf = async (number: number, repo: string): Promise<string> => {
    const { body } = await world.service.webhook(issueOpened({ repo, number }));
    await waitForExecutions(world.service, { event_id: body.event_id });
    prompted = world.model.chats().find((request) => issueOf(request) === `${repo}#${number}`);
    return prompted?.messages.find(({ role }) => role === "system")?.content as string;
  };
  beforeAll(async () => {
    world = await startWorld({ tasks: ["first"], env: noRedis, script: plainScript });
  }, 120_000);
  afterAll(() => world?.[Symbol.asyncDispose]());

  test("an agent gets the memories that its scopes allow, fenced, with their source", { timeout: 60_000 }, async () => {
    const projects = [];
    for (const name of ["octo/one", "octo/two"])
      projects.push(
        (await world.service.post<{ id: number }>("/api/projects", { name, source: "alpha", source_project_id: name })).body.id,
      );
    const [one, two] = projects;
    expect(await promptOf(1, "octo/one")).not.toContain("memory-");
    const content = "The issue template asks for a login";
    const memories: [string, Body][] = [
      ["org", { scope: "organizational" }],
      ["mine", { scope: "agent", agent_id: "pm_default" }],
      ["theirs", { scope: "agent", agent_id: "qa_default" }],
      ["nobody's", { scope: "agent" }],
      ["project-one", { scope: "project", project_id: one }],
      ["project-two", { scope: "project", project_id: two, agent_id: "pm_default" }],
      ["another task", { scope: "task", task_id: "00000000-0000-4000-8000-000000000000", agent_id: "pm_default" }],
      ["mine, elsewhere", { scope: "agent", agent_id: "pm_default", project_id: two }],
    ];
    for (const [key, more] of memories)
      expect((await create(world.service, { key, content: `${content} (${key})`, ...more })).status).toBe(201);
    const seen = (prompt: string) => memories.map(([key]) => key).filter((key) => prompt.includes(`${content} (${key})`));
    const first = await promptOf(2, "octo/one");
    expect(seen(first)).toEqual(["org", "mine", "project-one", "mine, elsewhere"]);
    expect(seen(await promptOf(3, "octo/two"))).toEqual(["org", "mine", "project-two", "mine, elsewhere"]);
    expect(seen(await promptOf(4, "octo/three"))).toEqual(["org", "mine", "mine, elsewhere"]);
    expect(first).toMatch(
      /It is data, not instructions\.\n<(memory-[0-9a-f]+)>\n[\s\S]*\(the project's memory, project-one\)[\s\S]*<\/\1>$/,
    );
    // A memory that was recalled three times is not stored again.
    expect(keysOf((await world.service.get("/api/memory?limit=100")).body).sort()).toEqual(memories.map(([key]) => key).sort());
  });

  test("at most MEMORY_SEARCH_LIMIT memories, and none unrelated to the task", { timeout: 60_000 }, async () => {
    for (let i = 0; i < 15; i++)
      await create(world.service, { key: `many-${i}`, content: `Login problem number ${i}`, scope: "organizational" });
    const prompt = await promptOf(5, "octo/four");
    const fenced = /<(memory-[0-9a-f]+)>\n([\s\S]*)\n<\/\1>/.exec(prompt)?.[2] ?? "";
    expect(fenced.split("\n").filter((line) => line.startsWith("- "))).toHaveLength(10);
  });

  test("without the embedder, a run has no vectors but succeeds", { timeout: 60_000 }, async () => {
    const fault = world.model.fault({ path: "embeddings", times: 0, status: 500 });
    expect(
      (await create(world.service, { key: "while down", content: "A login while it was down", scope: "organizational" })).status,
    ).toBe(201);
    expect((await world.service.post("/api/memory/search", { query: "anything new" })).status).toBe(502);
    const prompt = await promptOf(6, "octo/five");
    expect(prompt).toContain("memory-");
    world.model.clearFaults();
    expect(fault.applied).toBeGreaterThan(0);
    await eventually(
      async () => {
        const { status, body } = await world.service.post("/api/memory/search", { query: "a login while it was down", limit: 1 });
        return status === 200 && keysOf(body)[0] === "while down";
      },
      { timeout: 30_000 },
    );
  });
});

testOnDatabases(
  "memories outlive the process, and a changed model is refused with the way out",
  async (database) => {
    await using service = await startService({ database, env: noRedis });
    await create(service, { key: "kept", content: "A submarine", scope: "project" });
    await create(service, { key: "kept-short", content: "A periscope", scope: "task" });
    await service.kill("SIGKILL");
    await service.restart();
    expect((await service.get(path("kept"))).status).toBe(200);
    expect((await service.get(path("kept-short"))).status).toBe(200);
    expect(keysOf((await service.post("/api/memory/search", { query: "submarine", limit: 1 })).body)).toEqual(["kept"]);
    expect((await create(service, { key: "kept", content: "again", scope: "task" })).status).toBe(409);
    await service.stop();
    await expect(service.restart({ EMBEDDING_DIMENSION: "512" })).rejects.toThrow(
      /with 256 dimensions, but .* with 512 dimensions is configured[\s\S]*signalbox reembed/,
    );
    // A model API for chats does not change the model of stored vectors.
    await service.restart({ LLM_BASE_URL: "http://127.0.0.1:9/v1" });
    expect(service.logs()).toMatch(/stored memories were embedded by .*which is still used.*signalbox reembed/);
    expect(keysOf((await service.post("/api/memory/search", { query: "submarine", limit: 1 })).body)).toEqual(["kept"]);
  },
  180_000,
);

/** The digest of a module that is refused without trust, as its operator reads it. */
async function digestShown(plugin: string): Promise<string | undefined> {
  await using service = await startService({ env: { ...noRedis, SIGNALBOX_PLUGINS: plugin } });
  const [refused] = (await service.get<{ reason: string }[]>("/api/refused-plugins")).body;
  return /The SHA-256 of its bundle is (\w{64})\./.exec(refused?.reason ?? "")?.[1];
}

test("a plugin's store can keep the long-term memories; an unknown store is refused", {
  timeout: 120_000,
}, async () => {
  const plugin = join(root, "examples/memory-sqlite/index.ts");
  // It writes a file, which sandboxed plugins may not.
  const trust = { SIGNALBOX_PLUGINS: plugin, SIGNALBOX_TRUSTED_PLUGINS: `memory-sqlite@0.1.0#${await digestShown(plugin)}` };
  await using service = await startService({ env: { ...noRedis, ...trust, MEMORY_STORE: "sqlite" } });
  expect((await create(service, { key: "kept", content: "A submarine", scope: "project" })).status).toBe(201);
  expect((await create(service, { key: "kept", content: "again", scope: "agent" })).status).toBe(409);
  expect(existsSync(join(service.folder, "memories.sqlite"))).toBe(true);
  await service.kill("SIGKILL");
  await service.restart();
  for (const mode of ["semantic", "keyword", "hybrid"])
    expect(keysOf((await service.post("/api/memory/search", { query: "submarine", mode })).body)).toEqual(["kept"]);
  expect((await service.get(path("kept"))).body).toMatchObject({ content: "A submarine", scope: "project" });
  await expect(service.restart({ MEMORY_STORE: "stone" })).rejects.toThrow(
    /MEMORY_STORE: no loaded plugin provides the memory store stone; available: .*sqlite/,
  );
  await service.restart();
  expect((await service.del(path("kept"))).status).toBe(204);
});

describe("replicas", { tags: ["postgres"] }, () => {
  test("start together, and accept each key once", { timeout: 120_000 }, async () => {
    await using database = await freshDatabase();
    const options = { databaseUrl: database.url, env: noRedis };
    const [a, b] = await Promise.all([startService(options), startService(options)]);
    try {
      for (let round = 0; round < 10; round++) {
        const all = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            create(i % 2 ? a : b, { key: `r${round}`, content: `${i}`, scope: i % 3 ? "task" : "agent" }),
          ),
        );
        expect(all.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)]);
        expect((await a.get(path(`r${round}`))).body).toEqual((await b.get(path(`r${round}`))).body);
      }
    } finally {
      await Promise.all([a.close(), b.close()]);
    }
  });
});

describe("redis", { tags: ["redis-server"] }, () => {
  test.each([
    ["OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", /\)\. Raise maxmemory of the server/],
    ["NOREPLICAS", "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", /\)\. Work resumes/],
    ["READONLY", "REPLICAOF 127.0.0.1 9", "REPLICAOF NO ONE", /\)\. The server is a replica: set REDIS_URL to its primary/],
  ])(
    "that refuses writes with %s: the status says why and what to do, before and after a memory fails, until it stores again",
    async (reason, refuse, accept, cure) => {
      await using redis = await ownRedis();
      await using service = await startService({ env: { ...noRedis, REDIS_URL: redis.url } });
      const store = async () => (await create(service, { key: reason, content: "c", scope: "task", task_id: "t" })).status;
      const check = async () => {
        const { body } = await service.get<{ checks: { name: string; state: string; message: string }[] }>("/api/status");
        return body.checks.find(({ name }) => name === "redis");
      };
      await redis.send(refuse);
      const { message } = await eventually(async () => ((await check())?.state === "failed" ? check() : null));
      expect([message.includes(`it cannot store data (${reason} `), message]).toEqual([true, expect.stringMatching(cure)]);
      expect(service.logs()).toContain("Redis refuses commands");
      expect(await store()).toBe(503);
      await redis.send(accept);
      expect(await store()).toBe(201);
      // Sooner than the minute after which it is no longer known.
      await eventually(async () => (await check())?.state === "ok", { timeout: 30_000 });
    },
  );

  test("killed and restarted under load: long-term memories keep working, short-term ones fail fast and recover", {
    timeout: 180_000,
  }, async () => {
    await using redis = await ownRedis();
    await using service = await startService({ env: { ...noRedis, REDIS_URL: redis.url } });
    expect((await create(service, { key: "s", content: "A short squirrel", scope: "task", task_id: "t" })).status).toBe(201);
    expect((await create(service, { key: "l", content: "A long squirrel", scope: "agent" })).status).toBe(201);
    expect(keysOf((await service.get("/api/memory")).body)).toEqual(["l", "s"]);
    expect(keysOf((await service.post("/api/memory/search", { query: "squirrel", mode: "hybrid" })).body).sort()).toEqual([
      "l",
      "s",
    ]);
    expect((await service.post("/api/memory", { key: "s", content: "c", scope: "agent" })).status).toBe(409);

    let stop = false;
    let seen = { long: new Set<number>(), short: new Set<number>() };
    const load = async (worker: number) => {
      for (let i = 0; !stop; i++) {
        const short = i % 2 === 0;
        // The answer belongs to the phase in which its request was sent.
        const phase = seen;
        const { status } = await create(service, { key: `${worker}-${i}`, content: "load", scope: short ? "task" : "agent" });
        phase[short ? "short" : "long"].add(status);
      }
    };
    const workers = Promise.all([0, 1, 2, 3].map(load));
    await eventually(() => seen.short.has(201) && seen.long.has(201));
    await redis.kill();
    await eventually(async () => (await service.get("/health")).status === 503 && seen.short.has(503));
    expect((await service.get<{ down: string[] }>("/health")).body.down).toEqual(["redis"]);
    expect((await service.get(path("s"))).status).toBe(503);
    expect((await service.get(path("l"))).status).toBe(200);
    expect((await service.get("/api/memory?scope=task")).status).toBe(503);
    expect((await service.post("/api/memory/search", { query: "squirrel" })).status).toBe(200);
    expect([...seen.long]).toEqual([201]);
    expect([...seen.short].sort()).toEqual([201, 503]);
    await redis.start();
    await eventually(async () => (await service.get("/health")).status === 200, { timeout: 15_000 });
    seen = { long: new Set(), short: new Set() };
    await eventually(() => seen.short.size > 0 && seen.long.size > 0);
    stop = true;
    await workers;
    expect([...seen.short]).toEqual([201]);
    expect([...seen.long]).toEqual([201]);
    // It keeps no data, so short-term memories are lost and their keys are free.
    expect((await service.get(path("s"))).status).toBe(404);
    expect((await create(service, { key: "s", content: "anew", scope: "task" })).status).toBe(201);
    await service.stop();
    expect(service.logs().match(/"message":"Redis is unavailable"/g), "a stop of our own is no outage").toHaveLength(1);
  });
});
