---@key k any
---@return seconds value
return redis.call('get', k)
