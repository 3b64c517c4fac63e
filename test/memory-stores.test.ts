import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import memoryPgvector from "@signalbox/plugin-memory-pgvector";
import memoryRedis from "@signalbox/plugin-memory-redis";
import { testMemory } from "@signalbox/sdk/testing";
import { afterAll, describe, test } from "vitest";
import { sqlAccess } from "../runtime/database/access.ts";
import { connectEmbedded, connectPostgres, type Database } from "../runtime/database/client.ts";
import { openEmbedded } from "../runtime/database/embedded.ts";
import { migrate } from "../runtime/database/migrate.ts";
import { copyMigrated } from "../runtime/database/test-folder.ts";
import { openVectors, type VectorOptions } from "../runtime/database/vectors.ts";
import type { Log } from "../runtime/log.ts";
import { openRedis, type Redis } from "../runtime/redis/client.ts";
import { databases, freshDatabase } from "./harness/databases.ts";

const quiet: Log = { info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function openCopy(folder: string): Promise<Database> {
  await copyMigrated(folder);
  return connectEmbedded(await openEmbedded(folder));
}

async function open(flavour: "embedded" | "postgres"): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-stores-"));
  const fresh = flavour === "postgres" ? await freshDatabase() : null;
  const database = fresh ? connectPostgres(fresh.url, { max: 10 }) : await openCopy(join(folder, "data"));
  closing.push(async () => {
    await database.close();
    await fresh?.drop();
    rmSync(folder, { recursive: true, force: true });
  });
  await migrate(database, quiet);
  return database;
}

const base: VectorOptions = { dimension: 32, model: "test", metric: "cosine", index: "hnsw", probes: 10 };
/** One database per flavour; the settings that PostgreSQL sees one after the other on the same rows. */
const settings: Record<"embedded" | "postgres", VectorOptions[]> = {
  embedded: [base],
  postgres: [base, { ...base, metric: "l2" }, { ...base, metric: "ip" }, { ...base, index: "ivfflat" }],
};

for (const flavour of databases()) {
  const database = open(flavour);
  for (const options of settings[flavour]) {
    describe(`pgvector on ${flavour}, ${options.index}, ${options.metric}`, () => {
      const capabilities = async () => ({
        sql: sqlAccess((await database).sql),
        vectors: await openVectors(await database, ["memories"], options, quiet),
      });
      let ready: ReturnType<typeof capabilities> | undefined;
      const names = testMemory(memoryPgvector, { store: "pgvector" }).map(({ name }) => name);
      test.each(names.map((name, i) => [name, i] as const))("%s", { timeout: 60_000 }, async (_, i) => {
        ready ??= capabilities();
        await testMemory(memoryPgvector, { store: "pgvector", capabilities: await ready })[i]?.run();
      });
    });
  }
}

describe("wide vectors", () => {
  const wide = { ...base, dimension: 3072 };
  test.each(databases())("halfvec over 2,000 dimensions on %s", { timeout: 120_000 }, async (flavour) => {
    const database = await open(flavour);
    const vectors = await openVectors(database, ["memories"], wide, quiet);
    const capabilities = { sql: sqlAccess(database.sql), vectors };
    for (const one of testMemory(memoryPgvector, { store: "pgvector", capabilities })) await one.run();
    const [index] = await database.sql<[{ def: string }]>`
      select pg_get_indexdef(indexrelid) as def from pg_index where indrelid = 'memories'::regclass and indexrelid::regclass::text like 'memories_embedding_%'`;
    if (!index?.def.includes("halfvec_cosine_ops")) throw new Error(`no index on halfvec: ${index?.def}`);
  });
});

const url = process.env.TEST_REDIS_URL;
if (!url && process.env.REQUIRE_SERVICES === "1") throw new Error("REQUIRE_SERVICES=1, but TEST_REDIS_URL is not set");
describe.skipIf(!url)("redis", () => {
  const vectors = {
    dimension: 32,
    metric: "cosine" as const,
    model: "test",
    type: "",
    operator: "<=>" as const,
    tune: () => ({ text: "", parameters: [] }),
  };
  const connect = async () => {
    const redis = (await openRedis(url, `signalbox:test-${randomBytes(4).toString("hex")}:`, quiet)) as Redis;
    closing.push(async () => {
      const left = (await redis.call("KEYS", `${redis.prefix}*`)) as string[];
      for (const key of left) await redis.call("DEL", key);
      await redis.close();
    });
    return redis;
  };
  let ready: Promise<Redis> | undefined;
  const cases = testMemory(memoryRedis, { store: "redis" });
  test.each(cases.map(({ name }, i) => [name, i] as const))("%s", { timeout: 60_000 }, async (_, i) => {
    ready ??= connect();
    const redis = await ready;
    await testMemory(memoryRedis, { store: "redis", capabilities: { redis, vectors } })[i]?.run();
  });
});
