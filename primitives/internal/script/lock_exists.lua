--- Reports whether the lock has a holder.
---
---@key lock hash           owner -> hold count
---@return bool held
---@readonly
---@include alien.lua
local size = redis.call('hlen', lock)
return size > 0 and (alien(lock, size) or 1) or 0
