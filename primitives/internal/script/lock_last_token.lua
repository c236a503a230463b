--- Returns the last token granted.
---
---@key lock hash           owner -> hold count
---@key token string        the last token granted, decimal
---@return int? last        nil: there is none
---@readonly
---@include alien.lua
local size = redis.call('hlen', lock)
return size > 0 and alien(lock, size) or redis.call('get', token)
