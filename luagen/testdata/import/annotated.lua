---@key k string
---@readonly
return redis.call('get', k)
