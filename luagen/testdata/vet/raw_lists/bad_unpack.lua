local gone = redis.call('smembers', KEYS[1])
redis.call('srem', KEYS[1], unpack(gone))
redis.call('zrem', KEYS[2], unpack(gone))
redis.call('hdel', KEYS[3], unpack(redis.call('smembers', KEYS[4])))
local function flush(batch) redis.call('srem', KEYS[5], unpack(batch)) end
local ids = redis.call('smembers', KEYS[5])
for i = 1, #ids, 1000 do redis.call('srem', KEYS[5], unpack(ids, i, #ids)) end
local names, size = redis.call('smembers', KEYS[6]), 10000
for i = 1, #names, size do
  local last = math.min(i + size - 1, #names)
  redis.call('srem', KEYS[6], unpack(names, i, last))
end
flush(redis.call('smembers', KEYS[7]))
local all = redis.call('smembers', KEYS[8])
for i = 1, #all, #all do
  local batch = {}
  for j = i, math.min(i + #all - 1, #all) do table.insert(batch, all[j]) end
  flush(batch)
end
redis.call('del', unpack(redis.call('lrange', KEYS[9], 0, 9999)))
