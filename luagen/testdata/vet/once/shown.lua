---@key k string
---@arg a int(0..900000000000000)
redis.call('set', k, tostring(tonumber(a)))
