--- Returns how often owner holds the lock.
---
---@key lock hash           owner -> hold count
---@arg owner string
---@return int? count       nil: owner does not hold it
---@readonly
---@include alien.lua
local count = redis.call('hget', lock, owner)
local size = not count and redis.call('hlen', lock) or 0
return size > 0 and alien(lock, size) or count
