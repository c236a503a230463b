---@key k any
---@return int? value
return redis.call('get', k)
