---@key k any
---@readonly
---@return seconds? value
return redis.call('get', k)
