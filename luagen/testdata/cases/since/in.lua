---@key counter string
---@readonly
---@since redis 7.0, valkey 8.0.1, embedded
return redis.call('get', counter)
