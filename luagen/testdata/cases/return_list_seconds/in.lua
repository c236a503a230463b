---@key k list
---@readonly
---@return seconds[] values
return redis.call('lrange', k, 0, -1)
