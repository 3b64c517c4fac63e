import { memoryPace, type PaceAccess, type RedisAccess } from "@signalbox/sdk";
import type { Database } from "../database/client.ts";
import type { Log } from "../log.ts";
import { deleteOldPaces, holdStarts, takeStart } from "./queries.ts";
import { redisPace } from "./redis-pace.ts";

/**
 * The capability `pace`: in Redis where it is connected, in the database while it is away or absent. An embedded database
 * has one process, whose memory does.
 */
export function openPace({ sql, kind }: Pick<Database, "sql" | "kind">, redis: RedisAccess | null, log: Log): PaceAccess {
  if (kind === "embedded") return memoryPace();
  const database: PaceAccess = {
    take: (key, interval) => takeStart(sql, key, interval),
    hold: async (key, ms) => void (await holdStarts(sql, key, ms)),
  };
  deleteOldPaces(sql).catch((error) => log.warn("paces of before could not be removed", { error: String(error) }));
  return redis ? withSecond(redisPace(redis), database) : database;
}

/** Asks the second where the first does not answer. */
function withSecond(first: PaceAccess, second: PaceAccess): PaceAccess {
  return {
    take: (key, interval) => first.take(key, interval).catch(() => second.take(key, interval)),
    hold: (key, ms) => first.hold(key, ms).catch(() => second.hold(key, ms)),
  };
}
