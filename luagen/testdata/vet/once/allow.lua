---@key k string
---@return string? r
---@readonly
local x = 1 ---@allow unused
return redis.call('get', k)
