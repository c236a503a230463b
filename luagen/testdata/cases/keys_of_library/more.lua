---@library
---@include keys.lua
local function again(key, other)
  redis.call('hset', other, 'a', key)
  return drop(key)
end
local function deep(key, n)
  if n > 0 then return deep(key, n - 1) end
  return again(key, key)
end
