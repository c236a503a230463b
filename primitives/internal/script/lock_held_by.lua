--- Reports whether owner holds the lock.
---
---@key lock hash           owner -> hold count
---@arg owner string
---@return bool held
---@readonly
---@include alien.lua
if redis.call('hexists', lock, owner) == 1 then
  return 1
end
local size = redis.call('hlen', lock)
return size > 0 and alien(lock, size) or 0
