---@key counter string
---@arg value string
return redis.call('set', counter, value, 'NX')
