---@key a list...
---@key b list... per A
---@key c list... per b
---@key d list per a
---@return int n
---@readonly
return redis.call('llen', a[1]) + redis.call('llen', b[1]) + redis.call('llen', c[1]) + redis.call('llen', d)
