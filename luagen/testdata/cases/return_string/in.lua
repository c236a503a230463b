---@key k any
---@return string value
return redis.call('get', k)
