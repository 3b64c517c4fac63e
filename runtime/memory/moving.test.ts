import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import memoryPgvector from "@signalbox/plugin-memory-pgvector";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readConfig } from "../platform/config.ts";
import type { Database } from "../platform/database/client.ts";
import { migrate } from "../platform/database/migrate.ts";
import { openDatabase } from "../platform/database/open.ts";
import { copyCluster, folderInMemory } from "../platform/database/test-folder.ts";
import { noLog } from "../transports/http/testing/door.ts";
import { type MemoryResources, prepareMemory } from "./prepare.ts";
import { type Progress, reembed } from "./reembed.ts";
import { createMemoryRepository } from "./repository.ts";
import { openStores } from "./stand-alone.ts";
import { exportMemories, importMemories, linesOf } from "./transfer.ts";

const folder = mkdtempSync(join(folderInMemory(), "signalbox-moving-"));
const data = join(folder, "data");
const configOf = (dimension: number) => readConfig({ DATA_DIR: data, EMBEDDING_DIMENSION: String(dimension) }, "none");
let database: Database;
beforeAll(async () => {
  await copyCluster(data);
  database = await openDatabase(configOf(64), noLog);
  await migrate(database, noLog);
}, 120_000);
afterAll(async () => {
  await database?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(dimension: number) {
  const config = configOf(dimension);
  const resources: MemoryResources = { ...(await prepareMemory(config, database, noLog)), redis: null };
  const stores = await openStores(resources, [memoryPgvector], config, noLog);
  const keep = createMemoryRepository({
    ...resources,
    sql: database.sql,
    stores,
    shortTtlSeconds: 3600,
    log: noLog,
    onStored: () => {},
  });
  return { stores, keep, vectors: resources.vectors, embedder: resources.embedder };
}
const lines = async (stores: Awaited<ReturnType<typeof open>>["stores"]) => {
  const all: string[] = [];
  for await (const line of exportMemories({ sql: database.sql, stores })) all.push(line);
  return all;
};
async function* each<T>(items: readonly T[]) {
  yield* items;
}

test("export and import give back the same memories", { timeout: 60_000 }, async () => {
  const { keep, stores } = await open(64);
  for (let i = 0; i < 450; i++) await keep.create({ key: `k${i}`, content: `content "${i}"\n☃`, scope: "organizational" });
  await keep.create({ key: "short", content: "brief", scope: "task", task_id: "t", ttl_seconds: 100 });
  const exported = await lines(stores);
  expect(exported).toHaveLength(451);
  const before = await keep.get("k7");
  for (let i = 0; i < 450; i++) await keep.remove(`k${i}`);
  const result = await importMemories(
    keep,
    each([...exported, "", "{", '{"key":"x"}', '{"key":"y","content":"c","scope":"agent","agent_id":"deleted"}']),
  );
  expect(result).toMatchObject({ created: 450, skipped: 1 });
  expect(result.failed.map(({ line }) => line)).toEqual([453, 454, 455]);
  expect(result.failed[2]?.error).toContain('there is no agent "deleted"');
  const sorted = (all: string[]) =>
    [...all].map((one) => ({ ...JSON.parse(one), ttl_seconds: 0 })).sort((a, b) => (a.key < b.key ? -1 : 1));
  expect(sorted(await lines(stores))).toEqual(sorted(exported));
  const { content, created_at } = await keep.get("k7");
  expect({ content, created_at }).toEqual({ content: before.content, created_at: before.created_at });
});

test("only line feeds end the lines of a file; of two memories with one key the first is stored", async () => {
  const { keep } = await open(64);
  const odd = { key: "odd\u2028key", content: "a\u2029b\u0085c\ufeff☃ \r d", scope: "organizational" };
  const first = { ...odd, key: "two lines", content: "first", created_at: "2020-01-01T01:00:00+01:00" };
  const text = [odd, first, { ...first, content: "second" }].map((one) => JSON.stringify(one)).join("\r\n");
  const bytes = new TextEncoder().encode(`\ufeff${text}\n\n`);
  async function* slowly() {
    for (let i = 0; i < bytes.length; i += 7) yield bytes.subarray(i, i + 7);
  }
  expect(await importMemories(keep, linesOf(slowly()))).toEqual({ created: 2, skipped: 1, failed: [] });
  expect(await keep.get(odd.key)).toMatchObject(odd);
  expect(await keep.get(first.key)).toMatchObject({ content: "first", created_at: "2020-01-01T00:00:00.000Z" });
  for (const { key } of [odd, first]) await keep.remove(key);
});

test("a model that does not answer loses no vector", async () => {
  const proxy = { EMBEDDING_PROVIDER: "proxy", LLM_BASE_URL: "http://127.0.0.1:9/v1", EMBEDDING_DIMENSION: "64" };
  const config = readConfig({ DATA_DIR: data, ...proxy }, "none");
  const signal = new AbortController().signal;
  const failed = reembed({ config, database, builtIns: [memoryPgvector], log: noLog, signal }, () => {});
  await expect(failed).rejects.toThrow(/could not be reached/);
  await expect(open(64)).resolves.toBeDefined();
});

test("another model is refused until reembed has finished; an interrupted reembed resumes", { timeout: 120_000 }, async () => {
  await expect(open(96)).rejects.toThrow(/signalbox reembed/);
  const told: Progress[] = [];
  const stop = new AbortController();
  const options = { config: configOf(96), database, builtIns: [memoryPgvector], log: noLog };
  const half = reembed({ ...options, signal: stop.signal }, (progress) => {
    told.push(progress);
    if (progress.done >= 128) stop.abort(new Error("stopped half way"));
  });
  await expect(half).rejects.toThrow("stopped half way");
  await expect(open(64)).rejects.toThrow(/signalbox reembed/);
  const rest = await reembed({ ...options, signal: new AbortController().signal }, (progress) => void told.push(progress));
  expect(rest.total).toBe(451 - 128);
  expect(rest.done).toBe(rest.total);
  const { stores, embedder } = await open(96);
  const [vector = []] = await embedder.embedAll(['content "33"\n☃'], AbortSignal.timeout(60_000));
  expect(vector).toHaveLength(96);
  const [first] = await stores.longTerm.backend.nearest(vector, [{}], 1);
  expect(first?.similarity).toBeGreaterThan(0.999);
  expect(first?.key).toBe("k33");
});
