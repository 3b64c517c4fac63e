import { type MemoryStore, PluginError } from "@signalbox/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Failure } from "../platform/retry.ts";
import { hashEmbedding } from "./local-embedding.ts";
import { visibleTo } from "./recall.ts";
import { type MemoryDoor, openMemoryDoor } from "./testing/memory-door.ts";

/** A proxy that can be switched off, and a short-term store that is unavailable. */
let down = false;
let poison: string | null = null;
let flaky = false;
/** The model's response to a poisoned text; `undefined`: an invalid vector. */
let answer: number | undefined = 400;
let batches: (readonly string[])[] = [];
/** The model's response time, in milliseconds. */
let latency = 0;
const embed = async (texts: readonly string[]) => {
  batches.push(texts);
  if (latency > 0) await new Promise((done) => setTimeout(done, latency));
  if (down) throw new Failure("The LLM could not be reached.", { retryable: true });
  if (poison && texts.some((text) => text.includes(poison as string)))
    throw new Failure("no", { retryable: answer !== 400, ...(answer !== undefined && { status: answer }) });
  if (flaky && texts.length === 1) throw new Failure("The LLM could not be reached.", { retryable: true });
  return texts.map((text) => hashEmbedding(text, 256));
};
const away = new Proxy({} as MemoryStore, {
  get: () => () => Promise.reject(new PluginError("unavailable", "Redis is unavailable (127.0.0.1:1, ECONNREFUSED).")),
});

let opened: MemoryDoor;
beforeAll(async () => {
  opened = await openMemoryDoor({ embed, short: away });
}, 120_000);
afterAll(() => opened?.close());

const create = (body: Record<string, unknown>) => opened.door.post("/api/memory", body);
const search = (body: Record<string, unknown>) => opened.door.post("/api/memory/search", body);
const keysOf = (body: { key: string }[]) => body.map(({ key }) => key);
const until = async (check: () => Promise<boolean>) => {
  const end = Date.now() + 50_000;
  while (!(await check())) {
    if (Date.now() > end) throw new Error("not within 50 s");
    await new Promise((done) => setTimeout(done, 100));
  }
};

test("without the embedder nothing is lost, and only vectors are delayed", { timeout: 60_000 }, async () => {
  down = true;
  const all = Array.from({ length: 5 }, (_, i) => `late-${i}`);
  for (const key of all)
    expect((await create({ key, content: `A gondola in ${key}`, scope: "organizational" })).status).toBe(201);
  expect((await opened.door.get("/api/memory/late-0")).status).toBe(200);
  expect(keysOf((await search({ query: "gondola", mode: "keyword" })).body).sort()).toEqual(all);
  expect(keysOf((await search({ query: "gondola", mode: "hybrid" })).body).sort()).toEqual(all);
  const semantic = await search({ query: "gondola" });
  expect(semantic).toMatchObject({
    status: 502,
    body: { error: expect.stringMatching(/Failed to embed the query.*could not be reached/) },
  });
  expect(await opened.memory.recall("gondola", { execution_id: null, agent_id: null, project_id: null })).toHaveLength(5);
  down = false;
  await until(async () => (await search({ query: "gondola" })).body.length === 5);
});

test.each([400, 500, undefined])(
  "a text that the model refuses (%s) does not stop the others",
  { timeout: 60_000 },
  async (status) => {
    down = true;
    [poison, answer] = [`poison${status}`, status];
    const key = (i: number) => `mix-${status}-${i}`;
    for (let i = 0; i < 6; i++)
      await create({ key: key(i), content: i === 2 ? poison : `zeppelin${status} ${i}`, scope: "organizational" });
    down = false;
    const others = [0, 1, 3, 4, 5].map(key);
    await until(async () => {
      const { body } = await search({ query: `zeppelin${status}`, limit: 5 });
      return Array.isArray(body) && others.every((one) => keysOf(body).includes(one));
    });
    expect(keysOf((await search({ query: poison, mode: "keyword" })).body)).toEqual([key(2)]);
    poison = null;
  },
);

test("a model that becomes unavailable during single requests has refused no text", { timeout: 60_000 }, async () => {
  down = true;
  [poison, answer] = ["poison", 400];
  for (let i = 0; i < 4; i++)
    await create({ key: `flaky-${i}`, content: i === 0 ? "poison" : `dirigible ${i}`, scope: "organizational" });
  flaky = true;
  down = false;
  batches = [];
  await until(async () => batches.some(({ length }) => length === 1));
  flaky = false;
  await until(async () =>
    (await search({ query: "dirigible", limit: 3 })).body.every(({ key }: { key: string }) => key.startsWith("flaky-")),
  );
  poison = null;
});

test("creations at the same time are embedded together", async () => {
  // The pause after a failure is over.
  await until(async () => (await search({ query: `calm ${Date.now()}` })).status === 200);
  batches = [];
  // Only texts that arrive while the model works on others share a request.
  latency = 300;
  await Promise.all(
    Array.from({ length: 20 }, (_, i) => create({ key: `together-${i}`, content: `flock ${i}`, scope: "agent" })),
  );
  latency = 0;
  // The loop may embed earlier texts meanwhile.
  const flocks = batches.map((texts) => texts.filter((text) => text.startsWith("flock"))).filter(({ length }) => length > 0);
  expect(flocks.flat()).toHaveLength(20);
  expect(flocks.length).toBeLessThan(15);
});

test("an unavailable short-term store fails only short-term calls, with 503", async () => {
  const refused = await create({ key: "short", content: "c", scope: "task" });
  expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining("memory store short is unavailable") } });
  expect((await opened.door.get("/api/memory?scope=task")).status).toBe(503);
  expect((await search({ query: "x", mode: "keyword", scope: "task" })).status).toBe(503);
  expect((await create({ key: "long", content: "An albatross", scope: "agent" })).status).toBe(201);
  expect((await opened.door.get("/api/memory/long")).status).toBe(200);
  expect((await opened.door.get("/api/memory/never-there")).status).toBe(404);
  expect(keysOf((await opened.door.get("/api/memory?limit=1")).body)).toEqual(["long"]);
  expect(keysOf((await search({ query: "albatross", mode: "keyword" })).body)).toEqual(["long"]);
  expect((await opened.door.get("/api/memory/short")).status).toBe(503);
  expect((await opened.door.del("/api/memory/long")).status).toBe(204);
  expect(opened.warnings).toEqual([]);
});

test("what a viewer sees", () => {
  expect(visibleTo({ execution_id: null, agent_id: null, project_id: null })).toEqual([{ scope: "organizational" }]);
  expect(visibleTo({ execution_id: "e", agent_id: "a", project_id: 1 })).toEqual([
    { scope: "organizational" },
    { scope: "project", project_id: 1 },
    { scope: "agent", agent_id: "a" },
    { scope: "task", task_id: "e" },
  ]);
});
