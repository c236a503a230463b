---@key k any
---@readonly
---@return string? value
return redis.call('get', k)
