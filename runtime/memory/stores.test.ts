import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import memoryPgvector from "@signalbox/plugin-memory-pgvector";
import memoryRedis from "@signalbox/plugin-memory-redis";
import { testMemory } from "@signalbox/sdk/testing";
import { afterAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../../test/harness/databases.ts";
import { testOnDatabases } from "../../test/harness/on-databases.ts";
import { connectEmbedded, connectPostgres, type Database } from "../platform/database/client.ts";
import { openEmbedded } from "../platform/database/embedded.ts";
import { migrate } from "../platform/database/migrate.ts";
import { sqlAccess } from "../platform/database/nearest.ts";
import { copyCluster, folderInMemory } from "../platform/database/test-folder.ts";
import { openVectors, type VectorOptions } from "../platform/database/vectors.ts";
import type { Log } from "../platform/log.ts";
import { openRedis, type Redis } from "../platform/redis/client.ts";

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function openCopy(folder: string): Promise<Database> {
  await copyCluster(folder);
  return connectEmbedded(await openEmbedded(folder));
}

async function open(flavour: "embedded" | "postgres"): Promise<Database> {
  const folder = mkdtempSync(join(folderInMemory(), "signalbox-stores-"));
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
/** One database per flavour. PostgreSQL uses the settings one after the other on the same rows. */
const flavours: ["embedded" | "postgres", "postgres"[]][] = [
  ["embedded", []],
  ["postgres", ["postgres"]],
];
const settings: Record<"embedded" | "postgres", VectorOptions[]> = {
  embedded: [base],
  postgres: [base, { ...base, metric: "l2" }, { ...base, metric: "ip" }, { ...base, index: "ivfflat" }],
};

for (const [flavour, tags] of flavours) {
  let database: Promise<Database> | undefined;
  for (const options of settings[flavour]) {
    describe(`pgvector on ${flavour}, ${options.index}, ${options.metric}`, { tags }, () => {
      const capabilities = async () => {
        database ??= open(flavour);
        const { sql } = await database;
        const vectors = await openVectors(await database, ["memories"], options, quiet);
        return { sql: sqlAccess(sql, vectors.nearest), vectors };
      };
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
  // The smallest dimension that an index cannot hold as `vector`, because comparing wider vectors takes longer.
  const wide = { ...base, dimension: 2001 };
  testOnDatabases("halfvec over 2,000 dimensions", async (flavour) => {
    const database = await open(flavour);
    const vectors = await openVectors(database, ["memories"], wide, quiet);
    const capabilities = { sql: sqlAccess(database.sql, vectors.nearest), vectors };
    for (const one of testMemory(memoryPgvector, { store: "pgvector", capabilities })) await one.run();
    const [index] = await database.sql<[{ def: string }]>`
      select pg_get_indexdef(indexrelid) as def from pg_index where indrelid = 'memories'::regclass and indexrelid::regclass::text like 'memories_embedding_%'`;
    if (!index?.def.includes("halfvec_cosine_ops")) throw new Error(`no index on halfvec: ${index?.def}`);
  });
});

describe("filters and the vector index", () => {
  const dimension = 16;
  /** 1,500 memories in one direction, 600 in another, and 60 of one project among the first. */
  const rows = Array.from({ length: 2100 }, (_, i) => {
    const far = i >= 1500;
    const noise = (j: number) => Math.sin(i * 12.9898 + j * 78.233) * 0.3;
    const vector = Array.from({ length: dimension }, (_, j) => noise(j) + (j === (far ? 1 : 0) ? 1 : 0));
    return { n: i, agent: far ? "far" : "near", project: i % 25 === 0 && !far ? 7 : 8, vector: `[${vector.join(",")}]` };
  });
  const asked = Array.from({ length: dimension }, (_, j) => (j === 0 ? 1 : 0.05));
  testOnDatabases("a filter starves no search", async (flavour) => {
    const database = await open(flavour);
    const vectors = await openVectors(database, ["memories"], { ...base, dimension }, quiet);
    // In parts, because each row is added to the vector index, and a statement has a time limit.
    for (let at = 0; at < rows.length; at += 300)
      await database.sql`
        insert into memories (id, key, content, scope, agent_id, project_id, embedding)
        select gen_random_uuid(), 'row-' || n, 'x', 'agent', agent, project, vector::vector
        from jsonb_to_recordset(${JSON.stringify(rows.slice(at, at + 300))}::text::jsonb)
          e (n int, agent text, project int, vector text)`;
    const { memories } = await memoryPgvector.setup({ sql: sqlAccess(database.sql, vectors.nearest), vectors, config: {} });
    for (const match of [{ agent_id: "near" }, { agent_id: "far" }, { project_id: 7 }, { agent_id: "near", project_id: 7 }, {}]) {
      for (const filter of [
        [match],
        [match, { scope: "organizational" as const }, { scope: "agent" as const, agent_id: "nobody" }],
      ]) {
        const found = (await memories?.pgvector?.nearest(asked, filter, 10))?.map(({ key }) => key) ?? [];
        const best = await database.sql<{ key: string }[]>`
          select key from (select key, embedding <=> ${`[${asked.join(",")}]`}::vector as distance from memories
            where (${match.agent_id ?? null}::text is null or agent_id = ${match.agent_id ?? null})
              and (${match.project_id ?? null}::int is null or project_id = ${match.project_id ?? null}) offset 0) every_one
          order by distance limit 10`;
        expect(best).toHaveLength(10);
        expect(found).toHaveLength(10);
        // The index is approximate; it may miss one.
        expect(best.filter(({ key }) => found.includes(key)).length).toBeGreaterThanOrEqual(9);
      }
    }
  });
});

const url = process.env.TEST_REDIS_URL;
describe("redis", { tags: ["redis"] }, () => {
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
