---@key k list
---@readonly
---@return int[] values
return redis.call('lrange', k, 0, -1)
