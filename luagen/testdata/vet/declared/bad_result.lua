---@key k string
---@return milliseconds n
---@readonly
return redis.call('ttl', k)
