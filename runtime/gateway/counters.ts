import { type RateLimiterAbstract, RateLimiterPostgres } from "rate-limiter-flexible";
import type { Sql } from "../database/client.ts";

export type MakeCounter = (prefix: string, points: number, seconds: number) => RateLimiterAbstract;

/** Counters in the database, shared by all replicas. The library asks for a pool of `pg`; this is all that it uses of one. */
export function databaseCounters(sql: Sql): MakeCounter {
  const client = {
    query: async ({ text, values }: { text: string; values: (string | number)[] }) => {
      const rows = await sql.unsafe(text, values);
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
