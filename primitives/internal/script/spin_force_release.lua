--- Frees the lock, whichever owner holds it. It publishes nothing: waiters retry by themselves.
---
---@key lock hash           owner -> hold count
---@return bool released    false: the lock was free
---@include alien.lua
local size = redis.call('hlen', lock)
local strange = size > 0 and alien(lock, size)
if strange then
  return strange
end
return redis.call('del', lock)
