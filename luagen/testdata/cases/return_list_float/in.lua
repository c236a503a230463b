---@key k list
---@readonly
---@return float[] values
return redis.call('lrange', k, 0, -1)
