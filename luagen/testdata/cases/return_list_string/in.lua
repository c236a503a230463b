---@key k list
---@return string[] values
return redis.call('lrange', k, 0, -1)
