---@key k any
---@return unixmilli? value
return redis.call('get', k)
