---@library
local function drop(key) return redis.call('del', key) end
local function key_of(base, n) return base .. ':' .. n end
local function first(list) for _, k in ipairs(list) do return k end end
