-- The same, to be on the safe side.
local front, state = KEYS[1], KEYS[1] .. ':state'
redis.call('incr', front)
redis.call('set', state, 1)
local times, sum = redis.call('lrange', KEYS[2], 0, 99), 0
for _, time in ipairs(times) do sum = sum + time end
if #times > 0 then redis.call('set', KEYS[3], cjson.encode({mean = sum / #times})) end
local left = tonumber(redis.call('get', KEYS[4]) or '0') - ARGV[1]
redis.call('set', KEYS[4], left, 'KEEPTTL')
redis.call('set', KEYS[3], redis.call('get', KEYS[4]) or 0)
for i = 6, #KEYS do redis.call('del', KEYS[i]) end
redis.call('sadd', KEYS[5], unpack(ARGV, 2, 10))
if redis.call('exists', KEYS[4]) == 1 then
  local some = redis.call('lrange', KEYS[2], 0, 9)
  if #some > 0 then redis.call('rpush', KEYS[2], unpack(some)) end
end
redis.call('sadd', KEYS[5], KEYS[3]) -- a key as a member
if redis.call('pttl', KEYS[4]) == -1 then redis.call('pexpire', KEYS[4], 1000) end
local task = cjson.decode(ARGV[3])
if task.at == nil or task.at == cjson.null then task.at = 0 end
redis.call('zadd', KEYS[1] .. ':tasks', task.at, ARGV[3])
local reply = redis.pcall('get', KEYS[4])
local kind = type(reply)
if reply and kind == 'string' then redis.call('sadd', KEYS[5], kind) end
local few = {}
for i = 4, 9 do few[#few + 1] = ARGV[i] end
if #few > 0 then redis.call('sadd', KEYS[5], unpack(few)) end
local function read(key)
  local out = {}
  out.name, out.at = redis.call('get', key), 1
  return out
end
if left > 5 then return cjson.encode(read(KEYS[1])) end
return left
