/*
 * Lua scripts, because several keys change atomically:
 *   m:<id>    hash: doc (JSON), vector (base64 of float32), model. Expires with the memory.
 *   k:<key>   the id. Expires with the memory.
 *   i:<name>  sorted set of ids by creation: `all`, `task:<id>`, `agent:<id>`, `project:<id>`, `scope:<scope>`, `waits`
 *   x:<name>  the same ids by expiry, to find those to remove from i:<name>.
 */

/** KEYS: m, k, then i and x in pairs. ARGV: id, doc, created (ms), ttl (ms, 0: none), vector, model. */
export const put = `
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
local ttl = tonumber(ARGV[4])
redis.call('HSET', KEYS[1], 'doc', ARGV[2])
if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'vector', ARGV[5], 'model', ARGV[6]) end
redis.call('SET', KEYS[2], ARGV[1])
local ends = '+inf'
if ttl > 0 then
  redis.call('PEXPIRE', KEYS[1], ttl)
  redis.call('PEXPIRE', KEYS[2], ttl)
  local now = redis.call('TIME')
  ends = now[1] * 1000 + math.floor(now[2] / 1000) + ttl
end
for i = 3, #KEYS, 2 do
  redis.call('ZADD', KEYS[i], ARGV[3], ARGV[1])
  redis.call('ZADD', KEYS[i + 1], ends, ARGV[1])
end
return 1`;

/** KEYS: m, k, then i and x in pairs. ARGV: id. */
export const remove = `
local there = redis.call('DEL', KEYS[1])
redis.call('DEL', KEYS[2])
for i = 3, #KEYS do redis.call('ZREM', KEYS[i], ARGV[1]) end
return there`;

/** KEYS: i, x. ARGV: offset, limit. Returns the total and the ids of one page, newest first. */
export const page = `
local now = redis.call('TIME')
local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now[1] * 1000 + math.floor(now[2] / 1000), 'LIMIT', 0, 5000)
for i = 1, #gone do
  redis.call('ZREM', KEYS[1], gone[i])
  redis.call('ZREM', KEYS[2], gone[i])
end
return {redis.call('ZCARD', KEYS[1]), redis.call('ZREVRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1)}`;

/** KEYS: m, i:waits, x:waits. ARGV: id, vector, model. Stores the vector if the memory still exists. */
export const embed = `
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'vector', ARGV[2], 'model', ARGV[3]) end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1`;

/** KEYS: m, i:all, x:all, i:waits, x:waits. ARGV: id. Removes the vector and adds the memory to those that wait for one. */
export const forget = `
if redis.call('HDEL', KEYS[1], 'vector', 'model') == 0 then return 0 end
local created = redis.call('ZSCORE', KEYS[2], ARGV[1])
local ends = redis.call('ZSCORE', KEYS[3], ARGV[1])
if created and ends then
  redis.call('ZADD', KEYS[4], created, ARGV[1])
  redis.call('ZADD', KEYS[5], ends, ARGV[1])
end
return 1`;
