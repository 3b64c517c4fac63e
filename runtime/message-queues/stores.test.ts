import { randomBytes } from "node:crypto";
import queueRedis from "@signalbox/plugin-queue-redis";
import { testQueues } from "@signalbox/sdk/testing";
import { describe, test } from "vitest";
import type { Log } from "../platform/log.ts";
import { openRedis } from "../platform/redis/client.ts";

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };
const url = process.env.TEST_REDIS_URL;

describe("redis", { tags: ["redis"] }, () => {
  const start = async () => {
    const prefix = `test-queue-${randomBytes(6).toString("hex")}:`;
    const redis = await openRedis(url, prefix, quiet);
    if (!redis) throw new Error("no redis");
    const close = async () => {
      const keys = (await redis.call("KEYS", `${prefix}*`)) as string[];
      if (keys.length > 0) await redis.call("DEL", ...keys);
      await redis.close();
    };
    return { capabilities: { redis }, close };
  };
  for (const { name, run } of testQueues(queueRedis, { queue: "redis", start })) test(name, { timeout: 30_000 }, run);
});
