---@key k any
---@readonly
---@return milliseconds value
return redis.call('get', k)
