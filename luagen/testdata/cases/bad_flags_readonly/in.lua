---@key counter string
---@flag allow-oom
---@readonly
---@return string? value
return redis.call('get', counter)
