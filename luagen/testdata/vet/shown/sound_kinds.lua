---@key a hash
---@key b hash
---@key queue list
---@arg v string
---@arg lease milliseconds
redis.call('hgetall', b)
redis.call('llen', queue)
redis.call('hset', a, 'f', v)
redis.call('hset', b, 'f', v)
redis.call('rpush', queue, v)
redis.call('pexpire', a, lease)
redis.call('pexpire', b, lease)
redis.call('pexpire', queue, lease)
