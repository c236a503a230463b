--- Ends all holds, whichever owners have them, if the lock has the given mode, and wakes waiters. The message 2 says
--- that holders lost it.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@arg mode string         read or write
---@command publish publish|spublish
---@channel released
---@arg message string      0 or 1: whether one waiter may try, or all
---@return bool released    false: the lock has another mode, or is free
---@include alien.lua
if redis.call('hget', lock, 'mode') ~= mode then
  local size = redis.call('hlen', lock)
  return size > 0 and alien(lock, size) or 0
end
redis.call(publish, released, message)
redis.call(publish, released, '2')
redis.call('del', lock)
return 1
