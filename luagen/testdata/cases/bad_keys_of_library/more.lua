---@library
---@include keys.lua
local function again(key, other)
  redis.call('hset', other, 'a', key)
  return drop(key)
end
