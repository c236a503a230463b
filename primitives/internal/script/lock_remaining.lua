--- Returns the rest of the holder's lease.
---
---@key lock hash           owner -> hold count
---@return milliseconds remaining   -1 ms: no expiry; -2 ms: the lock is free
---@readonly
---@include alien.lua
local size = redis.call('hlen', lock)
if size == 0 then
  return -2
end
return alien(lock, size) or redis.call('pttl', lock)
