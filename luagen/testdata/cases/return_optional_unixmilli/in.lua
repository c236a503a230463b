---@key k any
---@readonly
---@return unixmilli? value
return redis.call('get', k)
