---@key lock hash
---@arg lease milliseconds
---@arg owner string
---@since redis 99.4, valkey 99.0
redis.call('hsett', 'undeclared')
redis.call('hset', lock)
redis.call('hpexpire', lock, lease, 'fields', 1, owner)
redis.call('hgetdel', owner, 'fields', 1, owner)
redis.call('frobnicate', lock)
