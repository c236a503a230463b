---@key k any
---@return float value
return redis.call('get', k)
