---@key k list
---@return seconds[] values
return redis.call('lrange', k, 0, -1)
