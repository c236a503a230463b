--- Returns the owner that holds the lock, and the description of the last holder that stored one.
---
---@key lock hash           owner -> hold count
---@key holder string       in lines: an owner, the time of its grant in microseconds, and its description
---@return string? owner    nil: the lock is free
---@return string? stored   nil: none
---@readonly
---@include alien.lua
local fields = redis.call('hgetall', lock)
local strange = #fields > 0 and alien(lock, #fields / 2)
return strange or {fields[1] or false, redis.call('get', holder)}
