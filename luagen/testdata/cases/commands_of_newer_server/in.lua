--- Each server is judged by the table of the version that it is at least.
---@key lock hash
---@arg lease milliseconds
---@arg owner string
---@since redis 7.4, valkey 9.0
redis.call('hpexpire', lock, lease, 'fields', 1, owner)
