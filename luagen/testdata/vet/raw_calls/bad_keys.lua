-- What is noted once for a script.
local left = tonumber(redis.call('get', KEYS[4]) or '0') - ARGV[1]
redis.call('set', KEYS[4], left)
redis.call('set', KEYS[5], redis.call('get', KEYS[5]) + 1)
local prefix = ARGV[2]
for _, id in ipairs(redis.call('smembers', KEYS[6])) do redis.call('del', prefix .. id) end
local owner = redis.call('get', KEYS[7])
if owner then redis.call('hincrby', owner, 'n', 1) end
redis.call('sadd', KEYS[8], unpack(ARGV, 3))
redis.call('zadd', KEYS[8], KEYS[9], 'x')
if redis.call('pttl', KEYS[8]) == nil then redis.call('pexpire', KEYS[8], 1000) end
local task = cjson.decode(ARGV[3])
if task.at == nil then task.at = 0 end
redis.call('zadd', KEYS[10], task.at, ARGV[3])
local function read(key)
  local out = {}
  out.name, out.at = redis.call('get', key), 1
  return out
end
if left > 5 then return read(KEYS[1]) end
return left
