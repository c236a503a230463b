---@flag no-writes
---@key k string
---@return string? r
return redis.call('get', k)
