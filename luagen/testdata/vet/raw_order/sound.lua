-- The same as it is meant.
-- ARGV[1]: now
-- ARGV[5]: a pattern
local due = redis.call('zrangebyscore', KEYS[1], 0, ARGV[1], 'limit', 0, ARGV[2])
if #due > 0 then redis.call('zrem', KEYS[1], unpack(due)) end
local first = redis.call('lrange', KEYS[2], 0, -1)
redis.call('del', KEYS[2])
redis.call('zremrangebyscore', KEYS[3], '-inf', ARGV[1])
local n = redis.call('zcard', KEYS[3])
if n > tonumber(ARGV[2]) then return 0 end
redis.call('lpush', KEYS[4], ARGV[3])
redis.call('ltrim', KEYS[4], 0, tonumber(ARGV[2]) - 1)
redis.call('rpush', KEYS[5], ARGV[3])
redis.call('ltrim', KEYS[5], -100, -1)
local next = redis.call('lindex', KEYS[6], 0)
redis.call('lpop', KEYS[6])
local kept = redis.call('hget', KEYS[7], 'a')
redis.call('unlink', KEYS[7])
if redis.call('sismember', KEYS[8], ARGV[3]) == 0 then redis.call('sadd', KEYS[8], ARGV[3]) end
if redis.call('zadd', KEYS[9], 'xx', 'ch', ARGV[1], ARGV[3]) == 0 then return 2 end
redis.call('bitfield', KEYS[10], 'overflow', 'sat', 'incrby', 'u8', '#1', 1)
redis.call('lrem', KEYS[11], 1, ARGV[3])
for i = 9, 0, -1 do
  local id = redis.call('lindex', KEYS[12], i)
  if id then redis.call('lrem', KEYS[12], 1, id) end
end
local old = redis.call('zrange', KEYS[13], 0, -(n + 1))
for _, id in ipairs(old) do redis.call('zrem', KEYS[13], id) end
redis.call('msetnx', unpack(ARGV, 7, 8))
if redis.call('sinterstore', KEYS[18], KEYS[19], KEYS[20]) > 0 then redis.call('rename', KEYS[18], KEYS[21]) end
local some = redis.call('zrangebyscore', KEYS[22], 0, 5, 'limit', 0, 100)
if #some > 0 then redis.call('rpush', KEYS[23], unpack(some)) end
local found = string.match(ARGV[4], '^' .. ARGV[5] .. ':(.*)$')
return {#first, next, kept, found}
