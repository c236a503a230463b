--- Returns how many of owner's read holds have a lease that has not ended.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  the beginning of each reader's side key: side:owner:rwlock_timeout:1
---@arg owner string
---@return int count
---@readonly
---@include alien.lua
local holds, count = redis.call('hget', lock, owner), 0
local size = not holds and redis.call('hlen', lock) or 0
local strange = size > 0 and alien(lock, size)
if strange then
  return strange
end
for n = 1, tonumber(holds or '0') or 0 do
  count = count + redis.call('exists', side .. ':' .. owner .. ':rwlock_timeout:' .. n)
end
return count
