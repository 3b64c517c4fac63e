import assert from "node:assert/strict";
import type { MemoryHit } from "../memory.ts";
import { similarityFromDistance, vectorDistance } from "../vector.ts";
import type { TestCase } from "./fixtures.ts";
import { keysOf, type MemoryHarness } from "./memory-harness.ts";

type Open = () => Promise<MemoryHarness>;

/** Cases for searches by vector and by words, and for vectors that are stored later. */
export const searchCases = (open: Open): TestCase[] => [
  { name: "finds the closest first, with their similarity", run: async () => closest(await open()) },
  { name: "a filtered search returns all matches", run: async () => checkFilters(await open()) },
  { name: "rejects or ignores a vector with another dimension", run: async () => otherLength(await open()) },
  { name: "finds words in English", run: async () => english(await open()) },
  { name: "reads web search syntax", run: async () => syntax(await open()) },
  { name: "finds memories that share words with free text, best first", run: async () => freeText(await open()) },
  { name: "stores without a vector and accepts it later", run: async () => later(await open()) },
  { name: "check succeeds while the store is available", run: async () => (await open()).backend.check() },
];

async function closest({ backend, put, agent, vector, vectors }: MemoryHarness): Promise<void> {
  const degrees = [50, 10, 0, 80, 30];
  const all: string[] = [];
  for (const at of degrees) all.push((await put(`at ${at}`, { embedding: vector(at) })).key);
  await put("without a vector");
  const hits = await backend.nearest(vector(0), [{ agent_id: agent }], 4);
  assert.deepEqual(
    keysOf(hits),
    [2, 1, 4, 0].map((i) => all[i]),
    "the four closest, closest first",
  );
  for (const [i, at] of [0, 10, 30, 50].entries()) {
    const expected = similarityFromDistance(vectors.metric, vectorDistance(vectors.metric, vector(0), vector(at)));
    const hit = hits[i] as MemoryHit;
    assert.ok(
      Math.abs((hit.similarity ?? -1) - expected) < 0.01,
      `similarity at ${at} degrees is ${hit.similarity}, not ${expected}`,
    );
    assert.equal(hit.rank, null, "no words were asked for");
  }
  const opposite = await backend.nearest(vector(180), [{ agent_id: agent }], 10);
  assert.equal(opposite.length, 5, "memories without a vector are not found by one");
  for (const { similarity } of opposite)
    assert.ok(similarity !== null && similarity >= 0 && similarity <= 1, "similarity is in 0..1");
}

async function checkFilters({ backend, put, agent, vector }: MemoryHarness): Promise<void> {
  const expectedKeys: string[] = [];
  for (let i = 0; i < 120; i++) {
    const rare = i % 40 === 0;
    // The rare ones are the most distant.
    const one = await put(`row ${i}`, {
      embedding: vector(rare ? 60 + i / 10 : i / 10),
      ...(rare ? { agent_id: `${agent}_rare` } : {}),
    });
    if (rare) expectedKeys.push(one.key);
  }
  const hits = await backend.nearest(vector(0), [{ agent_id: `${agent}_rare` }], 10);
  assert.deepEqual(keysOf(hits), expectedKeys, "all that the filter lets through, however far away");
}

async function otherLength({ backend, memory, vector, put, agent }: MemoryHarness): Promise<void> {
  const one = await put("whole", { embedding: vector(0) });
  await backend.put(memory("too long", { embedding: [...vector(0), 1] })).catch(() => {});
  await backend.nearest([...vector(0), 1], [{ agent_id: agent }], 10).then(
    (hits) => assert.deepEqual(hits, [], "a vector of another length is close to nothing"),
    () => {},
  );
  const hits = await backend.nearest(vector(0), [{ agent_id: agent }], 10);
  assert.deepEqual(keysOf(hits), [one.key]);
}

async function english({ backend, put, agent }: MemoryHarness): Promise<void> {
  const one = await put("The deployments were failing because of the expired certificates.");
  const two = await put("Nothing of interest here.");
  const find = async (text: string) =>
    keysOf(await backend.match({ words: "all", text, vector: null }, [{ agent_id: agent }], 10));
  for (const text of ["deployment", "DEPLOYMENTS fail", "certificate", "the failing of a deployment", "expires"])
    assert.deepEqual(await find(text), [one.key], `"${text}" must find it by its stems`);
  assert.deepEqual(await find("deployment interest"), [], "every word must occur");
  assert.deepEqual(await find("interest"), [two.key]);
  for (const text of ["the of a", "", "???", "   "])
    assert.deepEqual(await find(text), [], `"${text}" says nothing, and finds nothing`);
  const [hit] = await backend.match({ words: "all", text: "deployment", vector: null }, [{ agent_id: agent }], 10);
  assert.ok(hit && hit.rank !== null && hit.rank > 0 && hit.rank <= 1, "rank is above 0 and up to 1");
}

async function syntax({ backend, put, agent }: MemoryHarness): Promise<void> {
  const redBoat = (await put("a red boat on the lake")).key;
  const blue = (await put("a blue boat, and a red sail")).key;
  const find = async (text: string) =>
    keysOf(await backend.match({ words: "all", text, vector: null }, [{ agent_id: agent }], 10)).sort();
  assert.deepEqual(await find('"red boat"'), [redBoat], "the words of a phrase must be adjacent");
  assert.deepEqual(await find("boat -sail"), [redBoat], "a minus keeps out");
  assert.deepEqual(await find("lake or sail"), [redBoat, blue].sort(), "or means either");
  assert.deepEqual(await find("red boat"), [redBoat, blue].sort());
  for (const brokenQuery of ['"red', "& | ! ( ) :*", "-", "'", "\\", "or or", '""'])
    await backend.match({ words: "all", text: brokenQuery, vector: null }, [{ agent_id: agent }], 10);
}

async function freeText({ backend, put, agent, vector, vectors }: MemoryHarness): Promise<void> {
  const all = (await put("Rotate the database password every spring", { embedding: vector(0) })).key;
  const some = (await put("The password of the guest network is on the wall", { embedding: vector(40) })).key;
  await put("Lunch is at noon", { embedding: vector(0) });
  const query = { words: "any" as const, text: "When do we rotate the database password?", vector: vector(0) };
  const hits = await backend.match(query, [{ agent_id: agent }], 10);
  assert.deepEqual(keysOf(hits), [all, some], "those that share words, the fuller match first");
  const expected = similarityFromDistance(vectors.metric, vectorDistance(vectors.metric, vector(0), vector(40)));
  assert.ok(Math.abs((hits[1]?.similarity ?? -1) - expected) < 0.01, "a query with a vector gives hits their similarity");
  assert.equal(keysOf(await backend.match(query, [{ agent_id: agent }], 1)).length, 1, "limit holds");
  const listQuery = { ...query, text: `- password\n- database\n${"-".repeat(60)}\n"rotate` };
  assert.deepEqual(keysOf(await backend.match(listQuery, [{ agent_id: agent }], 10)), [all, some], "free text has no operators");
}

async function later({ backend, other, put, agent, vector }: MemoryHarness): Promise<void> {
  const one = await put("waiting for its vector");
  const unembedded = (await backend.unembedded(10_000)).find(({ id }) => id === one.id);
  assert.deepEqual(unembedded, { id: one.id, content: one.content }, "what has no vector waits for one");
  assert.deepEqual(await backend.nearest(vector(0), [{ agent_id: agent }], 10), []);
  assert.deepEqual(keysOf(await backend.match({ words: "all", text: "waiting", vector: vector(0) }, [{ agent_id: agent }], 10)), [
    one.key,
  ]);
  await other.embed([
    { id: one.id, embedding: vector(0) },
    { id: "00000000-0000-4000-8000-000000000000", embedding: vector(0) },
  ]);
  assert.deepEqual(keysOf(await backend.nearest(vector(0), [{ agent_id: agent }], 10)), [one.key]);
  assert.ok(!(await backend.unembedded(10_000)).some(({ id }) => id === one.id), "what has its vector waits no more");
  await backend.embed([]);
}
