---@key k any
---@return bool value
return redis.call('get', k)
