---@key k list
---@readonly
---@return bool[] values
return redis.call('lrange', k, 0, -1)
