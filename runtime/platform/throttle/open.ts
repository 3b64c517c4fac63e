import { inMemoryThrottle, type RedisAccess, type SharedThrottle } from "@signalbox/sdk";
import type { Database } from "../database/client.ts";
import type { Log } from "../log.ts";
import { deleteOldThrottles, holdStarts, takeStart } from "./queries.ts";
import { pluginOf } from "./record-holds.ts";

/**
 * The throttle that all plugins share: in Redis if it is connected, otherwise in the database. With an embedded database there is
 * only one process, so its memory is used.
 */
export function openThrottle({ sql, kind }: Pick<Database, "sql" | "kind">, redis: RedisAccess | null, log: Log): SharedThrottle {
  if (kind === "embedded") return separateThrottles();
  const database: SharedThrottle = {
    reserve: (key, interval) => takeStart(sql, key, interval),
    block: async (key, ms) => void (await holdStarts(sql, key, ms)),
  };
  deleteOldThrottles(sql).catch((error) => log.warn("failed to remove expired rate limits", { error: String(error) }));
  return redis ? withSecond(redisThrottle(redis), database) : database;
}

/** One in-memory throttle for each plugin, whose keys begin with its id, so that each drops only its own oldest keys. */
function separateThrottles(): SharedThrottle {
  const all = new Map<string, SharedThrottle>();
  const of = (key: string): SharedThrottle => {
    const plugin = pluginOf(key);
    const known = all.get(plugin) ?? inMemoryThrottle();
    all.set(plugin, known);
    return known;
  };
  return {
    reserve: (key, interval) => of(key).reserve(key, interval),
    block: (key, ms) => of(key).block(key, ms),
  };
}

/** Uses the second throttle if the first does not respond. */
function withSecond(first: SharedThrottle, second: SharedThrottle): SharedThrottle {
  return {
    reserve: (key, interval) => first.reserve(key, interval).catch(() => second.reserve(key, interval)),
    block: (key, ms) => first.block(key, ms).catch(() => second.block(key, ms)),
  };
}

/**
 * KEYS: the throttle. ARGV: milliseconds until the next start. Uses the server's clock, because the replicas' clocks may differ.
 */
const take = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local wait = tonumber(redis.call('GET', KEYS[1]) or '0') - now
if wait > 0 then return wait end
local interval = math.ceil(tonumber(ARGV[1]))
if interval > 0 then redis.call('SET', KEYS[1], now + interval, 'PX', interval + 1000) end
return 0`;

/** KEYS: the throttle. ARGV: milliseconds without a start. */
const holdScript = `
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + math.ceil(tonumber(ARGV[1]))
if ends > tonumber(redis.call('GET', KEYS[1]) or '0') then
  redis.call('SET', KEYS[1], ends, 'PX', math.ceil(tonumber(ARGV[1])) + 1000)
end
return 0`;

function redisThrottle(redis: RedisAccess): SharedThrottle {
  const keyOf = (key: string) => `${redis.prefix}pace:${key}`;
  return {
    reserve: async (key, interval) => Number(await redis.script(take, [keyOf(key)], [interval])),
    block: async (key, ms) => void (await redis.script(holdScript, [keyOf(key)], [ms])),
  };
}
