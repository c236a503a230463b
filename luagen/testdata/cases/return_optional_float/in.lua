---@key k any
---@readonly
---@return float? value
return redis.call('get', k)
