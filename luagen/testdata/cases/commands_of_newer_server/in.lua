--- Commands that no table has are for the servers to judge, if they are newer than the tables.
---@key lock hash
---@arg lease milliseconds
---@arg owner string
---@since redis 7.4, valkey 9.0
redis.call('hpexpire', lock, lease, 'fields', 1, owner)
