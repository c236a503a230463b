---@key k list
---@return milliseconds[] values
return redis.call('lrange', k, 0, -1)
