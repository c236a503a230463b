-- The same, to be on the safe side.
local n = tonumber(redis.call('get', KEYS[1])) or 0
local profile, reply = {}, redis.call('hgetall', KEYS[2])
for i = 1, #reply, 2 do profile[reply[i]] = reply[i + 1] end
local level, first = profile.level or false, ARGV[1]
local popped = redis.call('lpop', KEYS[4])
if popped then redis.call('rpush', KEYS[3], popped) end
redis.call('hset', KEYS[5], 'n', 1, unpack(redis.call('lrange', KEYS[6], 0, 9)))
redis.call('set', KEYS[7], n == 1 and 1 or 0)
local score = redis.call('zscore', KEYS[9], ARGV[1])
redis.call('zadd', KEYS[8], score and score + 1 or 1, ARGV[1])
local text = redis.call('hget', KEYS[10], 'job')
local job = text and cjson.decode(text) or {}
redis.call('publish', 'jobs', 'from ' .. (redis.call('hget', KEYS[11], 'owner') or 'nobody'))
local state = redis.call('hmget', KEYS[12], 'at', 'rate')
local rate = state[2] and tonumber(state[2]) + 1
if not rate then return {level, first, job.id} end
if redis.call('exists', KEYS[13]) == 1 and tonumber(redis.call('get', KEYS[13])) > 10 then return {0} end
redis.call('hsetnx', KEYS[14], 'n', 0)
if tonumber(redis.call('hget', KEYS[14], 'n')) > tonumber(ARGV[2]) then return {1} end
if redis.call('exists', KEYS[15]) == 0 then return {2} end
for _, id in ipairs(redis.call('smembers', KEYS[16])) do
  n = n + tonumber(redis.call('hget', KEYS[15], id))
end
local length = redis.call('strlen', KEYS[17])
if length > 0 then n = n + redis.call('get', KEYS[17]) end
assert(redis.call('hexists', KEYS[18], 'n') == 1)
n = n + redis.call('hget', KEYS[18], 'n')
local function log(text) redis.log(redis.LOG_NOTICE, text) end
redis.call('set', KEYS[20], 1, log('set'))
redis.call('persist', KEYS[21]) redis.call('rename', KEYS[21], KEYS[22])
n = n + redis.call('get', KEYS[22])
local function make() return {} end
local made, ids = make(), redis.call('lrange', KEYS[19], 0, 9)
for i = 0, #ids - 1 do made.level = ids[i + 1] end
for i = 0, #ids do
  if i > 0 then n = n + #ids[i] end
end
return {n, tonumber(state[1]) or 0, rate, made.level}
