-- Empty lists in JSON, and replies with any number of elements.
local names = {}
for _, id in ipairs(redis.call('lrange', KEYS[1], 0, 9)) do
  names[#names + 1] = redis.call('hget', KEYS[2], id)
end
redis.call('set', KEYS[3], cjson.encode(names))
local found = {}
if ARGV[1] == 'all' then table.insert(found, ARGV[2]) end
redis.call('set', KEYS[3], cjson.encode({of = ARGV[1], found = found}))
redis.call('set', KEYS[3], cjson.encode(redis.call('smembers', KEYS[4])))
local job = cjson.decode(ARGV[3])
local steps = 0
for _, step in ipairs(job.steps) do steps = steps + #step end
job.total = steps
redis.call('set', KEYS[3], cjson.encode(job))
redis.call('del', unpack(redis.call('lrange', KEYS[5], 0, -1)))
local members = redis.call('zrangebyscore', KEYS[6], '-inf', ARGV[4])
if #members > 0 then redis.call('zrem', KEYS[6], unpack(members)) end
local left, free, taken = 9, 9, {}
for _, id in ipairs(members) do
  if redis.call('get', id) then
    table.insert(taken, id)
    free = free - 1
  else
    left = left - 1
  end
end
if left > 0 then return free end
redis.call('set', KEYS[3], cjson.encode(taken))
return 1
