-- What calls on one key say of each other by their order, and each by itself.
-- ARGV[1]: now
local due = redis.call('zrangebyscore', KEYS[1], 0, ARGV[1], 'limit', 0, ARGV[2])
if #due > 0 then redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[1]) end
local first = redis.call('lrange', KEYS[2], 0, 9)
redis.call('del', KEYS[2])
local n = redis.call('zcard', KEYS[3])
redis.call('zremrangebyscore', KEYS[3], '-inf', ARGV[1])
if n > tonumber(ARGV[2]) then return 0 end
redis.call('lpush', KEYS[4], ARGV[3])
redis.call('ltrim', KEYS[4], -tonumber(ARGV[2]), -1)
redis.call('rpush', KEYS[5], ARGV[3])
redis.call('ltrim', KEYS[5], 0, 99)
local next = redis.call('lindex', KEYS[6], 0)
redis.call('rpop', KEYS[6])
redis.call('unlink', KEYS[7])
local gone = redis.call('hget', KEYS[7], 'a')
redis.call('sadd', KEYS[8], ARGV[3])
if redis.call('sismember', KEYS[8], ARGV[3]) == 0 then return 1 end
if redis.call('zadd', KEYS[9], 'xx', ARGV[1], ARGV[3]) == 0 then return 2 end
redis.call('bitfield', KEYS[10], 'incrby', 'u8', '#1', 1)
redis.call('lrem', KEYS[11], ARGV[3], 1)
for i = 0, 9 do
  local id = redis.call('lindex', KEYS[12], i)
  if id then redis.call('lrem', KEYS[12], 1, id) end
end
local old = redis.call('zrange', KEYS[13], 0, -n)
for _, id in ipairs(old) do redis.call('zrem', KEYS[13], id) end
redis.call('sinterstore', KEYS[18], KEYS[19], KEYS[20])
redis.call('rename', KEYS[18], KEYS[21])
local some = redis.call('zrangebyscore', KEYS[22], 0, 5, 'limit', 0, 100)
redis.call('rpush', KEYS[23], unpack(some))
local found = string.match(ARGV[4], '^' .. ARGV[5] .. ':(.*)$')
return {#first, next, gone, found}
