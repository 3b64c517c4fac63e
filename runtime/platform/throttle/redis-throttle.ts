import type { RedisAccess, SharedThrottle } from "@signalbox/sdk";

/** KEYS: the throttle. ARGV: milliseconds until the start after this one. By the server's clock: replicas' own may differ. */
const take = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local wait = tonumber(redis.call('GET', KEYS[1]) or '0') - now
if wait > 0 then return wait end
local interval = math.ceil(tonumber(ARGV[1]))
if interval > 0 then redis.call('SET', KEYS[1], now + interval, 'PX', interval + 1000) end
return 0`;

/** KEYS: the throttle. ARGV: milliseconds without a start. */
const hold = `
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + math.ceil(tonumber(ARGV[1]))
if ends > tonumber(redis.call('GET', KEYS[1]) or '0') then
  redis.call('SET', KEYS[1], ends, 'PX', math.ceil(tonumber(ARGV[1])) + 1000)
end
return 0`;

export function redisThrottle(redis: RedisAccess): SharedThrottle {
  const keyOf = (key: string) => `${redis.prefix}pace:${key}`;
  return {
    reserve: async (key, interval) => Number(await redis.script(take, [keyOf(key)], [interval])),
    block: async (key, ms) => void (await redis.script(hold, [keyOf(key)], [ms])),
  };
}
