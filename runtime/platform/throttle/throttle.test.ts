import { setTimeout as sleep } from "node:timers/promises";
import { inMemoryThrottle, type SharedThrottle } from "@signalbox/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../../../test/harness/databases.ts";
import { connectPostgres, type Database } from "../database/client.ts";
import { migrate } from "../database/migrate.ts";
import { createLog } from "../log.ts";
import { openRedis } from "../redis/client.ts";
import { openThrottle } from "./open.ts";

const url = process.env.TEST_REDIS_URL;
const there = process.env.TEST_DATABASE_URL !== undefined;
const kinds = ["memory", ...(there ? ["database"] : []), ...(there && url ? ["redis"] : [])];
const log = createLog({ pretty: false, write: () => {} });

describe.each(kinds)("one queue of starts, kept in %s", (kind) => {
  const ends: (() => Promise<unknown>)[] = [];
  /** As on two replicas. */
  let replicas: readonly [SharedThrottle, SharedThrottle];
  let made = 0;
  const key = () => `${process.pid}-${Date.now()}-${made++}`;
  beforeAll(async () => {
    const memory = inMemoryThrottle();
    replicas = [memory, memory];
    if (kind === "memory") return;
    const fresh = await freshDatabase();
    const open = async () => {
      const database: Database = connectPostgres(fresh.url, { max: 4 });
      const redis = kind === "redis" ? await openRedis(url, "test-throttle:", log) : null;
      ends.unshift(
        () => database.close(),
        async () => redis?.close(),
      );
      await migrate(database, log);
      return openThrottle(database, redis, log);
    };
    ends.push(() => fresh.drop());
    replicas = [await open(), await open()];
  }, 60_000);
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test("of many simultaneous callers one may start", async () => {
    const own = key();
    const waits = await Promise.all(
      Array.from({ length: 12 }, (_, at) => (replicas[at % 2] as SharedThrottle).reserve(own, 60_000)),
    );
    expect(waits.filter((wait) => wait === 0)).toHaveLength(1);
    const later = await replicas[1].reserve(own, 60_000);
    expect(later).toBeGreaterThan(30_000);
    expect(later).toBeLessThanOrEqual(60_000);
    expect(await replicas[0].reserve(key(), 60_000)).toBe(0);
  });

  test("a caller that waits as long as told may start", async () => {
    let [own, wait] = ["", 0];
    // On a busy machine, a short interval can be over before the second caller asks.
    for (const interval of [120, 1_000, 5_000, 20_000]) {
      own = key();
      expect(await replicas[0].reserve(own, interval)).toBe(0);
      wait = await replicas[1].reserve(own, interval);
      if (wait > 0) break;
    }
    expect(wait).toBeGreaterThan(0);
    await sleep(wait + 30);
    expect(await replicas[1].reserve(own, 60_000)).toBe(0);
    expect(await replicas[0].reserve(own, 0)).toBeGreaterThan(0);
  });

  test("a refusal delays all callers, and a shorter one does not shorten it", async () => {
    const own = key();
    await replicas[0].block(own, 60_000);
    await replicas[1].block(own, 100);
    expect(await replicas[1].reserve(own, 0)).toBeGreaterThan(30_000);
  });

  test("without an interval no caller waits", async () => {
    const own = key();
    for (const one of [...replicas, ...replicas]) expect(await one.reserve(own, 0)).toBe(0);
  });
});
