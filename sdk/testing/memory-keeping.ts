import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { MemoryMatch, MemoryScope } from "../memory.ts";
import type { TestCase } from "./fixtures.ts";
import { keysOf, type MemoryHarness, storedMemory } from "./memory-harness.ts";

type Open = () => Promise<MemoryHarness>;

/** Storing, reading, deleting, lifetimes, lists. */
export const storageCases = (open: Open): TestCase[] => [
  { name: "returns what was stored", run: async () => givesBack(await open()) },
  { name: "stores any text", run: async () => anyText(await open()) },
  { name: "a key belongs to one memory", run: async () => oneHolder(await open()) },
  { name: "one of several concurrent puts gets the key", run: async () => race(await open()) },
  { name: "deletes once", run: async () => deletes(await open()) },
  { name: "an expired memory is not returned, and its key can be reused", slow: true, run: async () => expires(await open()) },
  { name: "lists newest first, page by page", run: async () => pages(await open()) },
  { name: "lists only what a filter matches", run: async () => filters(await open()) },
];

async function givesBack({ backend, other, memory, put }: MemoryHarness): Promise<void> {
  const one = await put("Deploys happen on Fridays.", { project_id: 7, task_id: "t-1", scope: "task" });
  assert.deepEqual(await backend.get(one.key), storedMemory(one));
  assert.deepEqual(await other.get(one.key), storedMemory(one), "another replica must see it immediately");
  assert.equal(await backend.get(memory("").key), null, "get of an absent key must return null");
}

/** Unusual keys: separators of stores and paths, combining marks, right-to-left text, characters beyond 16 bits, spaces, long keys. */
const strange = [
  "a/b//c/../d",
  "a:b:c",
  "*",
  "?x=1&y=2#z",
  "%2F%",
  "  spaced  ",
  "line\nbreak\ttab",
  "日本語のキー",
  "é vs e\u0301",
  "مفتاح",
  "👩‍👩‍👧‍👦🇪🇺",
  "'; drop table memories; --",
  '{"json": true}',
  "__proto__",
  "constructor",
  "\u2028\u0001",
  "ß".repeat(500),
];

async function anyText({ backend, put, agent, memory }: MemoryHarness): Promise<void> {
  for (const text of strange) {
    const one = await put(`${text} is a content`, { key: `${agent.slice(-8)}${text}` });
    assert.deepEqual(await backend.get(one.key), storedMemory(one));
  }
  // Keys are not trimmed, case-folded or normalized.
  const composedMemory = await put("composed", { key: `${agent}\u00e9` });
  assert.equal(await backend.get(`${agent}e\u0301`), null, "keys that only look alike must be different");
  assert.equal((await backend.get(composedMemory.key))?.content, "composed");
  const large = await put("ü".repeat(128 * 1024), { key: memory("").key });
  assert.equal((await backend.get(large.key))?.content, large.content, "256 KiB must be stored completely");
}

async function oneHolder({ backend, other, memory, put }: MemoryHarness): Promise<void> {
  const first = await put("first");
  const second = memory("second", { key: first.key, scope: "organizational" as MemoryScope });
  assert.equal(await backend.put(second), false, "put of a taken key must return false");
  assert.equal(await other.put({ ...second, ttl_ms: 60_000 }), false, "put of a taken key must return false, also with ttl_ms");
  assert.equal((await backend.get(first.key))?.content, "first", "a refused put must change nothing");
  assert.deepEqual(keysOf((await backend.list([{ scope: "agent", agent_id: first.agent_id }], { limit: 10, offset: 0 })).items), [
    first.key,
  ]);
}

async function race({ backend, other, memory, agent }: MemoryHarness): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const all = Array.from({ length: 12 }, (_, i) => memory(`try ${i}`, { key: `${agent}/race/${round}` }));
    const outcomes = await Promise.all(all.map((one, i) => (i % 2 ? backend : other).put(one)));
    assert.equal(outcomes.filter(Boolean).length, 1, "exactly one of twelve puts of a key must succeed");
    assert.equal(
      (await backend.get(`${agent}/race/${round}`))?.id,
      all[outcomes.indexOf(true)]?.id,
      "the memory of the put that returned true must be stored",
    );
  }
}

async function deletes({ backend, other, put, agent, vector }: MemoryHarness): Promise<void> {
  const one = await put("to be forgotten soon", { embedding: vector(0) });
  const outcomes = await Promise.all([backend.delete(one.key), other.delete(one.key), backend.delete(one.key)]);
  assert.equal(outcomes.filter(Boolean).length, 1, "one of several deletions must return true");
  assert.equal(await backend.get(one.key), null, "get of a deleted key must return null");
  assert.deepEqual((await backend.list([{ agent_id: agent }], { limit: 10, offset: 0 })).items, []);
  assert.deepEqual(await backend.nearest(vector(0), [{ agent_id: agent }], 10), []);
  assert.deepEqual(await backend.match({ words: "all", text: "forgotten", vector: null }, [{ agent_id: agent }], 10), []);
  await put("anew", { key: one.key });
}

async function expires({ backend, put, agent, vector, memory }: MemoryHarness): Promise<void> {
  const filter = [{ agent_id: agent }];
  const keptMemory = await put("harbour stays", { embedding: vector(0), ttl_ms: 600_000 });
  const putBrief = async (ttl_ms: number) => {
    const startedAt = performance.now();
    const brief = await put("harbour goes", { embedding: vector(1), ttl_ms });
    const waits = await put("harbour goes too", { ttl_ms });
    const found = await backend.get(brief.key);
    return { brief, waits, found, isLate: performance.now() - startedAt >= ttl_ms };
  };
  let ttl_ms = 400;
  let last = await putBrief(ttl_ms);
  // On a busy machine, they can expire before the first one is read.
  while (last.isLate && ttl_ms < 10_000) {
    ttl_ms *= 2;
    last = await putBrief(ttl_ms);
  }
  const { brief, waits, found } = last;
  assert.equal(found?.id, brief.id, "it must exist until it expires");
  await sleep(ttl_ms + 50);
  assert.equal(await backend.get(brief.key), null, "get must not find an expired memory");
  const page = await backend.list(filter, { limit: 10, offset: 0 });
  assert.deepEqual([keysOf(page.items), page.total], [[keptMemory.key], 1], "list and total must not count expired memories");
  assert.deepEqual(keysOf(await backend.nearest(vector(0), filter, 10)), [keptMemory.key]);
  assert.deepEqual(keysOf(await backend.match({ words: "all", text: "harbour", vector: null }, filter, 10)), [keptMemory.key]);
  assert.ok(
    !(await backend.unembedded(10_000)).some(({ id }) => id === waits.id),
    "an expired memory must not be listed as unembedded",
  );
  assert.equal(await backend.delete(brief.key), false, "delete of an expired memory must return false");
  await put("new tenant", { key: waits.key, ttl_ms: null });
  await backend.sweep();
  assert.equal((await backend.get(waits.key))?.content, "new tenant", "sweep must keep unexpired memories");
  assert.ok(await backend.put(memory("again", { key: brief.key })), "the key of an expired memory must be free");
}

async function pages({ backend, put, agent }: MemoryHarness): Promise<void> {
  const all = [];
  for (let i = 0; i < 23; i++) all.push(await put(`number ${i}`));
  const newest = keysOf(all).reverse();
  const filter = [{ agent_id: agent }];
  const found: string[] = [];
  for (let offset = 0; offset < 30; offset += 10) {
    const page = await backend.list(filter, { limit: 10, offset });
    assert.equal(page.total, 23, "total counts all pages");
    found.push(...keysOf(page.items));
  }
  assert.deepEqual(found, newest, "pages together must be the list: newest first, nothing twice, nothing left out");
  assert.deepEqual(keysOf((await backend.list(filter, { limit: 1, offset: 22 })).items), newest.slice(22));
  assert.deepEqual((await backend.list(filter, { limit: 5, offset: 1000 })).items, []);
}

async function filters({ backend, put, agent, vector }: MemoryHarness): Promise<void> {
  const other = `${agent}_b`;
  const project = 1 + Math.floor(Math.random() * 1_000_000_000);
  const task = `task-${agent}`;
  const places: MemoryMatch[] = [
    { scope: "agent", agent_id: agent },
    { scope: "agent", agent_id: other },
    { scope: "project", agent_id: agent, project_id: project },
    { scope: "project", agent_id: other, project_id: project + 1 },
    { scope: "task", agent_id: agent, task_id: task },
    { scope: "task", agent_id: agent, task_id: `${task}0` },
    { scope: "organizational", agent_id: agent },
  ];
  const all: string[] = [];
  for (const [i, place] of places.entries()) {
    const nowhere = { agent_id: null, project_id: null, task_id: null };
    all.push((await put("lighthouse", { ...nowhere, ...place, embedding: vector(i) })).key);
  }
  const expectations: [MemoryMatch[], number[]][] = [
    [[{ agent_id: agent }], [0, 2, 4, 5, 6]],
    [[{ agent_id: agent, scope: "agent" }], [0]],
    [[{ project_id: project }], [2]],
    [[{ project_id: project, agent_id: other }], []],
    [[{ task_id: task }], [4]],
    [
      [
        { scope: "task", task_id: task },
        { scope: "agent", agent_id: other },
      ],
      [1, 4],
    ],
    [
      [{ agent_id: other }, { agent_id: other, scope: "agent" }],
      [1, 3],
    ],
    // Entries that one filter skips may match another.
    [places.filter(({ agent_id }) => agent_id === agent), [0, 2, 4, 5, 6]],
    [[], []],
  ];
  for (const [filter, indexes] of expectations) {
    const expectedKeys = indexes.map((i) => all[i] as string);
    const what = JSON.stringify(filter);
    const page = await backend.list(filter, { limit: 50, offset: 0 });
    assert.deepEqual([keysOf(page.items), page.total], [[...expectedKeys].reverse(), expectedKeys.length], `list by ${what}`);
    assert.deepEqual(keysOf(await backend.nearest(vector(0), filter, 50)), expectedKeys, `nearest by ${what}`);
    const matches = await backend.match({ words: "any", text: "lighthouse", vector: null }, filter, 50);
    assert.deepEqual(keysOf(matches).sort(), [...expectedKeys].sort(), `match by ${what}`);
  }
}
