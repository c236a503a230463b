---@key k list
---@readonly
---@return unixmilli[] values
return redis.call('lrange', k, 0, -1)
