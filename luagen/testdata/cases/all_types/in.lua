---@key k any
---@arg a string
---@arg b bytes
---@arg c int
---@arg d int(1..2147483647)
---@arg e float
---@arg f bool
return redis.call('set', k, a .. b .. c .. d .. e .. tostring(f))
