--- Returns the owner that holds the lock, and the description of the last holder that stored one.
---
---@key lock hash           owner -> hold count
---@key holder string       in lines: an owner, the time of its grant in microseconds, and its description
---@return string? field    the owner's; nil: the lock is free
---@return string? stored   nil: none
---@readonly
---@include owner.lua
local found, wrong = owner_of(lock)
return wrong or {found, redis.call('get', holder)}
