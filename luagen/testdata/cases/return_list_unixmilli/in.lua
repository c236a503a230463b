---@key k list
---@return unixmilli[] values
return redis.call('lrange', k, 0, -1)
