---@key k any
---@readonly
---@return int value
return redis.call('get', k)
