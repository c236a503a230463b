---@library
local function drop(key) return redis.call('del', key) end
local function both(first, second)
  drop(first)
  drop(second)
end
