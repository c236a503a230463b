---@key lock string
---@arg lease milliseconds
---@arg ttl int(0..60)
---@arg share float
---@arg rest milliseconds(-1..)
redis.call('pexpire', lock, lease * 0.5)
redis.call('pexpire', lock, lease * share)
redis.call('expire', lock, lease / 1000)
redis.call('expire', lock, math.floor(lease / 1000))
redis.call('expire', lock, ttl)
redis.call('pexpire', lock, math.min(lease, rest))
redis.call('set', lock, 1, 'ex', ttl * 2)
