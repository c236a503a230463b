---@library
local function drop(key) return redis.call('del', key) end
