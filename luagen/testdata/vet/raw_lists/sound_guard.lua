-- Conditions that guard what is encoded, or bound what is unpacked.
local due = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[1])
local n, members = #due, redis.call('smembers', KEYS[3])
if n == 0 then return 'none' end
redis.call('publish', KEYS[2], cjson.encode(due))
if redis.call('scard', KEYS[3]) > 0 then redis.call('publish', KEYS[2], cjson.encode({all = members})) end
local some, seen = {}, false
for _, id in ipairs(due) do
  if redis.call('get', id) then
    some[#some + 1] = id
    seen = true
  end
end
if seen then redis.call('publish', KEYS[2], cjson.encode(some)) end
if next(some) then return cjson.encode(some) end
local logs = {}
local function log(text) logs[#logs + 1] = text end
log('none')
redis.call('publish', KEYS[2], cjson.encode(logs))
local limit, batch = 5000, {}
if #members < limit then redis.call('srem', KEYS[3], unpack(members)) end
for _, id in ipairs(members) do
  batch[#batch + 1] = id
  if #batch == 100 then
    redis.call('srem', KEYS[3], unpack(batch))
    batch = {}
  end
end
local function flush(part) redis.call('srem', KEYS[3], unpack(part)) end
for i = 1, #members, limit do
  local last, part = i + limit - 1, {}
  if last > #members then last = #members end
  redis.call('zrem', KEYS[1], unpack(members, i, last))
  for j = i, math.min(i + limit - 1, #members) do part[#part + 1] = members[j] end
  flush(part)
end
redis.call('rpush', KEYS[4], 0, unpack(redis.call('lrange', KEYS[5], 0, 99)))
return 0
