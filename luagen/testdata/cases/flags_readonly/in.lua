---@flag no-writes
---@key counter string
---@readonly
---@return string? value
return redis.call('get', counter)
