---@key o hash
---@key ks string...
redis.call('del', ks)
redis.call('hset', o, redis.call('hgetall', o))
redis.call('set', ks[1], redis.call('type', o))
