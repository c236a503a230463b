---@key counter string
---@readonly
---@since redis 7.0, embedded 2.40
return redis.call('get', counter)
