---@key k list
---@readonly
---@return string[] values
return redis.call('lrange', k, 0, -1)
