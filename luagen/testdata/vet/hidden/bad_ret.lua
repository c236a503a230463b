---@key lock string
local function get() return redis.call end
get()('get', 'foo' .. lock)
