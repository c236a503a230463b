--- Returns the field of the owner that holds the lock.
---
---@key lock hash           owner -> hold count
---@return string? field    the owner's; nil: the lock is free
---@readonly
---@include owner.lua
local found, wrong = owner_of(lock)
return wrong or found
