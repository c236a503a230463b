---@key k list
---@return bytes[] values
return redis.call('lrange', k, 0, -1)
