---@key k list
---@return float[] values
return redis.call('lrange', k, 0, -1)
