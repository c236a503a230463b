---@key k any
---@readonly
---@return bytes value
return redis.call('get', k)
