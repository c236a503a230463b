---@key lock hash
---@key queue zset
---@arg owner string
---@since redis 7.2, valkey 8.1
redis.call('hgetdel', lock, 'fields', 1, owner)
redis.call('hpexpire', lock, 1000, 'fields', 1, owner)
redis.call('waitaof', 0, 1, 10)
redis.call('msetex', 1, lock, owner)
redis.call('delifeq', lock, owner)
