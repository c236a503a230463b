--- Returns the rest of the longest lease of the readers.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  the beginning of each reader's side key: side:owner:rwlock_timeout:1
---@return milliseconds remaining   0: there is no reader
---@readonly
---@include readers.lua
---@include alien.lua
local size = redis.call('hlen', lock)
local strange = size > 0 and alien(lock, size)
if strange then
  return strange
end
local _, longest = survey(lock, side)
return longest
