-- Lists that have elements, or that the script has asked about; objects; replies with a bound.
local names = {}
for _, id in ipairs(redis.call('lrange', KEYS[1], 0, 9)) do
  names[#names + 1] = redis.call('hget', KEYS[2], id)
end
redis.call('set', KEYS[3], #names > 0 and cjson.encode(names) or 'none')
local found = {ARGV[1]}
if ARGV[1] == 'all' then table.insert(found, ARGV[2]) end
redis.call('set', KEYS[3], cjson.encode({of = ARGV[1], found = found}))
local tags = {}
tags[#tags + 1] = ARGV[1]
redis.call('set', KEYS[3], cjson.encode(tags))
local counts = {}
for _, id in ipairs(redis.call('lrange', KEYS[1], 0, 9)) do counts[id] = 1 end
redis.call('set', KEYS[3], cjson.encode(counts))
local all = redis.call('smembers', KEYS[4])
if #all == 0 then return 'none' end
redis.call('set', KEYS[3], cjson.encode(all))
local job = cjson.decode(ARGV[3])
job.state = 'done'
redis.call('set', KEYS[3], cjson.encode(job))
local queue = cjson.decode(ARGV[4])
table.insert(queue, ARGV[5])
for _, entry in ipairs(queue) do redis.call('sadd', KEYS[4], entry) end
redis.call('set', KEYS[3], cjson.encode(queue))
local old = redis.call('lrange', KEYS[5], 0, 99) if #old > 0 then redis.call('del', unpack(old)) end
local due = redis.call('zrangebyscore', KEYS[6], '-inf', ARGV[6], 'LIMIT', 0, 100)
if #due > 0 then redis.call('zrem', KEYS[6], unpack(due)) end
local members = redis.call('smembers', KEYS[4])
for i = 1, #members, 1000 do
  redis.call('srem', KEYS[4], unpack(members, i, math.min(i + 999, #members)))
end
if redis.call('llen', KEYS[5]) > 5000 then return 'none' end
redis.call('rpush', KEYS[7], 0, unpack(redis.call('lrange', KEYS[5], 0, -1)))
local left, taken = tonumber(ARGV[1]), {}
for _, id in ipairs(members) do
  if left > 0 then
    table.insert(taken, id)
    left = left - 1
  end
end
if left > 0 then return 'none' end
redis.call('set', KEYS[3], cjson.encode(taken))
return cjson.encode({})
