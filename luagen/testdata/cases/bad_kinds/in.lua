---@key lock hash
---@key side string prefix
---@key queues list...
redis.call('get', lock)
redis.call('sadd', lock, 1)
redis.call('hset', side .. ':1', 'a', 1)
for _, q in ipairs(queues) do redis.call('zadd', q, 1, 'x') end
local alias = lock
redis.call('rpop', alias)
redis.call('setbit', lock, 1, 1)
redis.call('zunionstore', lock, 1, lock)
