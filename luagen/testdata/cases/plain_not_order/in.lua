---@key counter string
---@readonly
---@arg a int
---@arg b int
---@return string value
return redis.call('getrange', counter, b, a)
