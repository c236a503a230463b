---@key lock hash
---@arg lease milliseconds
---@arg owner string
---@since redis 7.4, valkey 8.0
redis.call('hpexpire', lock, lease, 'fields', 1, owner)
