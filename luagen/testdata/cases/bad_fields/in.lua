---@key bucket hash level: int, at: unixmilli
---@key buckets hash... level: int
---@arg name string
---@return int n
local levle = 'levle'
redis.call('hset', bucket, 'levl', 1, 'at', 'level', 'rate', 1, name, 5)
redis.call('hincrby', buckets[1], 'lvl', 1)
for _, key in ipairs(buckets) do
  redis.call('hdel', key, 'level', 'at')
end
local values = redis.call('hmget', bucket, 'at', levle, name)
redis.call('hsetnx', bucket, 'xyz', values[1])
return redis.call('hget', bucket, 'Level')
