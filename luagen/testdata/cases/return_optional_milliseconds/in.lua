---@key k any
---@return milliseconds? value
return redis.call('get', k)
