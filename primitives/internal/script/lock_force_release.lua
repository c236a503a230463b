--- Frees the lock, whichever owner holds it, and wakes one waiter per client. The message 2 says that a holder lost it.
---
---@key lock hash           owner -> hold count
---@command publish publish|spublish
---@channel released
---@return bool released    false: the lock was free
---@include alien.lua
local size = redis.call('hlen', lock)
if size == 0 then
  return 0
end
local strange = alien(lock, size)
if strange then
  return strange
end
redis.call(publish, released, '0')
redis.call(publish, released, '2')
redis.call('del', lock)
return 1
