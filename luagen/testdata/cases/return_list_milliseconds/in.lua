---@key k list
---@readonly
---@return milliseconds[] values
return redis.call('lrange', k, 0, -1)
