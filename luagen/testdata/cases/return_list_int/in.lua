---@key k list
---@return int[] values
return redis.call('lrange', k, 0, -1)
