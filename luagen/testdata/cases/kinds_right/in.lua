--- Nothing here is for another kind of key.
---@key lock hash
---@key counter string
---@key members set
---@key scores zset
---@key entries stream
---@key thing any
---@key queues list...
redis.call('hset', lock, 'a', 1)
redis.call('del', lock, counter, members)
redis.call('setbit', counter, 1, 1)
redis.call('pfadd', counter, 1)
redis.call('geoadd', scores, 1, 1, 'x')
redis.call('zunionstore', scores, 2, members, scores)
redis.call('pexpire', scores, 1000)
redis.call('sort', queues[1])
redis.call('sort', members)
redis.call('sadd', thing, 1)
redis.call('rpush', thing, 1)
redis.call('xadd', entries, '*', 'a', 'b')
redis.call('type', lock)
