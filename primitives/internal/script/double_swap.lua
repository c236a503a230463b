--- Sets the number, removes its expiry, and returns the number before.
---
---@key counter string
---@arg value float
---@return float? old       nil: there was none
---@error NOTANUMBER the key holds a text that is no number
---@include float.lua
local old = redis.call('get', counter)
if not number(old or '0') then
  return redis.error_reply('NOTANUMBER the key holds no number')
end
redis.call('set', counter, value)
return old
