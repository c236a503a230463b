--- Returns the rest of the writer's lease.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@return milliseconds remaining   -1 ms: no expiry; -2 ms: there is no writer
---@readonly
---@include alien.lua
if redis.call('hget', lock, 'mode') ~= 'write' then
  local size = redis.call('hlen', lock)
  return size > 0 and alien(lock, size) or -2
end
return redis.call('pttl', lock)
