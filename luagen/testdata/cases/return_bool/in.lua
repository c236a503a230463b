---@key k any
---@readonly
---@return bool value
return redis.call('exists', k)
