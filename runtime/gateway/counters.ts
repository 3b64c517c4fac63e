import { type RateLimiterAbstract, RateLimiterPostgres, RateLimiterRedis } from "rate-limiter-flexible";
import type { Sql } from "../platform/database/client.ts";
import type { Redis } from "../platform/redis/client.ts";

export type MakeCounter = (prefix: string, points: number, seconds: number) => RateLimiterAbstract;

/** Counters that all replicas share: in Redis if it is connected, otherwise in the database. */
export function countersOf(sql: Sql, redis: Redis | null): MakeCounter {
  const inDatabase = databaseCounters(sql);
  if (!redis) return inDatabase;
  return (name, points, duration) =>
    new RateLimiterRedis({
      storeClient: redis.connection,
      keyPrefix: `${redis.prefix}limit:${name}`,
      points,
      duration,
      insuranceLimiter: inDatabase(name, points, duration),
    });
}

/** Counters in the database, shared by all replicas. The library expects a pool of `pg`, and uses only `query`. */
function databaseCounters(sql: Sql): MakeCounter {
  const client = {
    query: async ({ text, values }: { text: string; values: (string | number)[] }) => {
      // Prepared, so that it takes one round trip instead of two: every call of an agent is counted.
      const rows = await sql.unsafe(text, values, { prepare: true });
      return { rows: [...rows], rowCount: rows.count };
    },
  };
  return (keyPrefix, points, duration) =>
    new RateLimiterPostgres({
      storeClient: client,
      storeType: "pool",
      tableName: "rate_limits",
      tableCreated: true,
      keyPrefix,
      points,
      duration,
    });
}
