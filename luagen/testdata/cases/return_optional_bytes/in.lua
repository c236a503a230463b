---@key k any
---@return bytes? value
return redis.call('get', k)
