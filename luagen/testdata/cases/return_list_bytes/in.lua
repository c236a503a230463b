---@key k list
---@readonly
---@return bytes[] values
return redis.call('lrange', k, 0, -1)
