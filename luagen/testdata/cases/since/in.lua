---@key counter string
---@since redis 7.0, valkey 8.0.1, embedded
return redis.call('get', counter)
