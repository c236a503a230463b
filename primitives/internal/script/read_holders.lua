--- Returns the number of the readers whose leases have not ended.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  the beginning of each reader's side key: side:owner:rwlock_timeout:1
---@return int readers
---@readonly
---@include readers.lua
---@include alien.lua
local size = redis.call('hlen', lock)
local strange = size > 0 and alien(lock, size)
if strange then
  return strange
end
local mode, longest, gone = survey(lock, side)
if longest == 0 then
  return 0
end
return size - #gone - (mode == 'write' and 2 or 1) -- without the mode and the writer
