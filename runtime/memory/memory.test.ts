import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type MemoryDoor, openMemoryDoor } from "./testing/memory-door.ts";

let opened: MemoryDoor;
let project: number;
beforeAll(async () => {
  opened = await openMemoryDoor();
  await opened.door.post("/api/agents/seed");
  const body = { name: "App", source: "alpha", source_project_id: "octo/app" };
  project = (await opened.door.post("/api/projects", body)).body.id;
}, 120_000);
afterAll(() => opened?.close());

const create = (body: Record<string, unknown>) => opened.door.post("/api/memory", body);
const path = (key: string) => `/api/memory/${encodeURIComponent(key)}`;
const search = (body: Record<string, unknown>) => opened.door.post("/api/memory/search", body);
const keysOf = (body: { key: string }[]) => body.map(({ key }) => key);

test("201 with the memory object", async () => {
  const { status, body } = await create({
    key: "style",
    content: "Tabs, never spaces.",
    scope: "project",
    agent_id: "qa_default",
    project_id: project,
  });
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    key: "style",
    content: "Tabs, never spaces.",
    scope: "project",
    agent_id: "qa_default",
    project_id: project,
    task_id: null,
    created_at: expect.stringMatching(/Z$/),
    updated_at: body.created_at,
  });
  const { key, content, scope, agent_id, project_id, created_at, updated_at } = body;
  expect(await opened.door.get(path("style"))).toMatchObject({ status: 200, body });
  const listed = await opened.door.get(`/api/memory?project_id=${project}`);
  expect(listed.body).toEqual([{ key, content, scope, agent_id, project_id, created_at, updated_at }]);
  const found = await search({ query: "tabs or spaces?", project_id: project });
  expect(found.status).toBe(200);
  expect(found.body).toEqual([{ key, content, scope, agent_id, project_id, similarity: expect.any(Number), created_at }]);
  expect(found.body[0].similarity).toBeGreaterThan(0.1);
  expect(found.body[0].similarity).toBeLessThanOrEqual(1);
});

test("409 if the key exists, in either tier", async () => {
  expect((await create({ key: "twice", content: "one", scope: "organizational" })).status).toBe(201);
  for (const scope of ["task", "agent", "project", "organizational"]) {
    const { status, body } = await create({ key: "twice", content: "two", scope });
    expect({ status, body }).toEqual({ status: 409, body: { error: 'key: a memory with the key "twice" already exists' } });
  }
  expect((await opened.door.get(path("twice"))).body.content).toBe("one");
});

const good = { key: "k", content: "c", scope: "organizational" };
test.each<[string, Record<string, unknown>, RegExp]>([
  ["no key", { ...good, key: undefined }, /^key: is required/],
  ["an empty key", { ...good, key: "" }, /^key: must not be empty/],
  ["513 characters", { ...good, key: "k".repeat(513) }, /^key: must have at most 512 characters/],
  ["a key that no path can carry", { ...good, key: ".." }, /^key: must not be/],
  ["no content", { ...good, content: undefined }, /^content: is required/],
  ["too much content", { ...good, content: "ü".repeat(131_073) }, /^content: must have at most 262144 bytes/],
  ["no scope", { ...good, scope: undefined }, /^scope: /],
  ["another scope", { ...good, scope: "galaxy" }, /^scope: /],
  ["an unknown agent", { ...good, agent_id: "deleted" }, /^agent_id: there is no agent "deleted"/],
  ["an unknown project", { ...good, project_id: 999_999 }, /^project_id: there is no project 999999/],
  ["an agent's id that is none", { ...good, agent_id: "No Body" }, /^agent_id: must start with a lower-case letter/],
  ["a lifetime of nothing", { ...good, ttl_seconds: 0 }, /^ttl_seconds: /],
  ["half a second", { ...good, ttl_seconds: 0.5 }, /^ttl_seconds: /],
  ["a NUL", { ...good, content: "a\0b" }, /^content: must not contain a NUL character/],
  ["half a surrogate pair", { ...good, key: "\ud800" }, /^key: must not contain half of a surrogate pair/],
])("400: %s", async (_, body, message) => {
  const answer = await create(body);
  expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(message) } });
  expect((await opened.door.get(path("k"))).status).toBe(404);
});

test.each<[string, Record<string, unknown>]>([
  ["no query", {}],
  ["an empty query", { query: "  " }],
  ["a limit of 0", { query: "x", limit: 0 }],
  ["a limit of 1001", { query: "x", limit: 1001 }],
  ["another mode", { query: "x", mode: "psychic" }],
  ["another scope", { query: "x", scope: "galaxy" }],
  ["a text for a number", { query: "x", project_id: "7" }],
])("400: search with %s", async (_, body) => {
  expect((await search(body)).status).toBe(400);
});

test("400: list with a wrong query", async () => {
  for (const query of ["limit=0", "limit=1001", "offset=-1", "scope=galaxy", "project_id=x", "limit=1&limit=2"])
    expect([query, (await opened.door.get(`/api/memory?${query}`)).status]).toEqual([query, 400]);
});

test("the longest key and the largest content are kept", async () => {
  const key = "👩‍👩‍👧".repeat(102);
  const content = "ü".repeat(131_072);
  expect([...key].length).toBeLessThanOrEqual(512);
  expect((await create({ key, content, scope: "agent" })).status).toBe(201);
  expect((await opened.door.get(path(key))).body.content).toBe(content);
  expect((await opened.door.del(path(key))).status).toBe(204);
});

test.each(["a/b/../c", "search", "100%", "%2F", "a b+c", "ключ/é", "x?y=z#f", "seed", "..."])(
  "key %j is created, read and deleted",
  async (key) => {
    const made = await create({ key, content: `about ${key}`, scope: "organizational" });
    expect(made.status).toBe(201);
    expect(await opened.door.get(path(key))).toMatchObject({ status: 200, body: made.body });
    expect(await opened.door.del(path(key))).toMatchObject({ status: 204, body: null });
    expect(await opened.door.del(path(key))).toMatchObject({
      status: 404,
      body: { error: expect.stringContaining("There is no memory with the key") },
    });
    expect((await opened.door.get(path(key))).status).toBe(404);
  },
);

test("405 and 400 for invalid paths", async () => {
  expect((await opened.door.put("/api/memory/search", {})).status).toBe(405);
  expect((await opened.door.put("/api/memory/other", {})).status).toBe(405);
  expect((await opened.door.get("/api/memory/%ff")).status).toBe(400);
  expect((await opened.door.get("/api/memory/a/b")).status).toBe(404);
});

test("of many creations of one key exactly one succeeds, across the tiers", async () => {
  for (let round = 0; round < 5; round++) {
    const scopes = ["task", "agent", "project", "organizational"];
    const all = await Promise.all(
      Array.from({ length: 16 }, (_, i) => create({ key: `race-${round}`, content: `${i}`, scope: scopes[i % 4] })),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([201, ...Array(15).fill(409)]);
    const winner = all.find(({ status }) => status === 201)?.body;
    expect((await opened.door.get(path(`race-${round}`))).body).toEqual(winner);
  }
});

test("an expired memory disappears at once, and its key is free", async () => {
  for (const [scope, next] of [
    ["task", "agent"],
    ["agent", "task"],
  ]) {
    const key = `brief-${scope}`;
    expect((await create({ key, content: "volcano", scope, ttl_seconds: 600 })).status).toBe(201);
    expect((await opened.door.get(path(key))).status).toBe(200);
    expect((await create({ key, content: "volcano", scope: next })).status).toBe(409);
    // As if the time had passed.
    const passed = await opened.door.sql`
      with a as (update memories set expires_at = expires_at - interval '600 seconds' where key = ${key} returning expires_at),
        b as (update memory_keys set expires_at = expires_at - interval '600 seconds' where key = ${key} returning expires_at)
      select expires_at <= now() as is_over from a union all select expires_at <= now() from b`;
    expect(passed).toEqual([{ is_over: true }, { is_over: true }]);
    expect((await opened.door.get(path(key))).status).toBe(404);
    expect((await search({ query: "volcano", mode: "keyword" })).body).toEqual([]);
    expect((await opened.door.del(path(key))).status).toBe(404);
    expect((await create({ key, content: "anew", scope: next })).status).toBe(201);
    expect((await opened.door.get(path(key))).body).toMatchObject({ content: "anew", scope: next });
  }
  await expect.poll(() => opened.door.sql`select 1 from memories where expires_at <= now()`).toEqual([]);
});

test("short-term memories expire after REDIS_MEMORY_TTL, others never", async () => {
  await create({ key: "ttl-task", content: "c", scope: "task" });
  await create({ key: "ttl-agent", content: "c", scope: "agent" });
  const rows = await opened.door.sql<{ key: string; seconds: number | null }[]>`
    select key, extract(epoch from expires_at - created_at)::float8 as seconds from memories where key like 'ttl-%' order by key`;
  expect(rows[0]).toEqual({ key: "ttl-agent", seconds: null });
  expect(Math.abs((rows[1]?.seconds ?? 0) - 3600)).toBeLessThan(30);
});

test("a creation that crashed releases its key", async () => {
  const hold = (key: string, pending: string) => opened.door.sql`
    insert into memory_keys (key, id, store, pending_until) values (${key}, ${newId()}, 'pgvector', ${pending}::timestamptz)`;
  await hold("died", "2020-01-01");
  await hold("being written", "2100-01-01");
  await opened.door.sql`insert into memory_keys (key, id, store) values ('lost by its store', ${newId()}, 'pgvector')`;
  expect((await opened.door.get(path("died"))).status).toBe(404);
  expect((await create({ key: "died", content: "c", scope: "agent" })).status).toBe(201);
  expect((await create({ key: "lost by its store", content: "c", scope: "task" })).status).toBe(201);
  expect((await create({ key: "being written", content: "c", scope: "agent" })).status).toBe(409);
});

test("a memory in a store that is no longer configured keeps its key until it expires", async () => {
  const elsewhere = { key: "elsewhere", content: "c", scope: "task" };
  await opened.door.sql`
    insert into memory_keys (key, id, store, expires_at) values ('elsewhere', ${newId()}, 'redis', now() + interval '1 hour')`;
  const attempts = [
    () => create(elsewhere),
    () => create({ ...elsewhere, scope: "agent" }),
    () => opened.door.get(path("elsewhere")),
  ];
  for (const { status, body } of await Promise.all(attempts.map((attempt) => attempt())))
    expect([status, body]).toEqual([503, { error: "The memory is in the store redis, which is not configured." }]);
  await opened.door.sql`update memory_keys set expires_at = now() where key = 'elsewhere'`;
  expect((await create(elsewhere)).status).toBe(201);
  await opened.door.sql`insert into memory_keys (key, id, store) values ('kept elsewhere', ${newId()}, 'sqlite')`;
  expect((await create({ ...elsewhere, key: "kept elsewhere" })).status).toBe(201);
});

test("pages, newest first, with the total", async () => {
  for (let i = 0; i < 7; i++)
    await create({ key: `page-${i}`, content: `page ${i}`, scope: i % 2 ? "task" : "agent", agent_id: "ta_default" });
  const pages = [];
  for (const offset of [0, 3, 6, 9]) {
    const { body, total } = await opened.door.get(`/api/memory?agent_id=ta_default&limit=3&offset=${offset}`);
    expect(total).toBe(7);
    pages.push(...keysOf(body));
  }
  expect(pages).toEqual([6, 5, 4, 3, 2, 1, 0].map((i) => `page-${i}`));
  const tasks = await opened.door.get("/api/memory?agent_id=ta_default&scope=task");
  expect(keysOf(tasks.body)).toEqual(["page-5", "page-3", "page-1"]);
  expect((await opened.door.get("/api/memory?agent_id=dev_default")).body).toEqual([]);
  expect((await opened.door.get("/api/memory?agent_id=gone_agent")).body).toEqual([]);
});
