---@key lock hash
---@arg other string
---@include keys.lua
local chosen = lock
if other ~= '' then
  chosen = other
end
redis.call('hset', lock, 'a', drop(chosen))
return drop(chosen)
