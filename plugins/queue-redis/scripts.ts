/** Atomic scripts. KEYS: messages, due, known. They use the clock of Redis, so that all consumers agree on it. */
const now = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)";

/** ARGV: id, time, message, and so on. */
export const publish = `
for i = 1, #ARGV, 3 do
  if redis.call('ZADD', KEYS[3], 'NX', ARGV[i + 1], ARGV[i]) == 1 then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
    redis.call('ZADD', KEYS[2], ARGV[i + 1], ARGV[i])
  end
end
return 1`;

/** ARGV: limit, offset. Returns the total and the messages of one page. */
export const pendingScript = `
${now}
local ids = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', ARGV[2], ARGV[1])
local found = {redis.call('ZCOUNT', KEYS[2], '-inf', now)}
for _, id in ipairs(ids) do table.insert(found, redis.call('HGET', KEYS[1], id)) end
return found`;

/** ARGV: limit, lease in milliseconds. */
export const take = `
${now}
local taken = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[1])) do
  redis.call('ZADD', KEYS[2], now + ARGV[2], id)
  table.insert(taken, redis.call('HGET', KEYS[1], id))
end
return taken`;

/** ARGV: id. An acknowledged id is known and has no message. A message that was never taken is due at its own time. */
export const ack = `
local known = redis.call('ZSCORE', KEYS[3], ARGV[1])
if not known then return 0 end
local due = redis.call('ZSCORE', KEYS[2], ARGV[1])
if due and due == known then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1`;

/** ARGV: time. Removes ids older than this, at most a thousand, and returns their number. */
export const expire = `
local old = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[1], 'LIMIT', 0, 1000)
for _, id in ipairs(old) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
end
return #old`;
