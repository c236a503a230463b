---@key k list
---@return bool[] values
return redis.call('lrange', k, 0, -1)
