--- Sets the number, removes its expiry, and returns the number before.
---
---@key number string
---@arg value int
---@return int? old         nil: there was none
---@error NOTANUMBER the key holds a text that is no whole number
---@include decimal.lua
local old = redis.call('get', number)
if not integer(old or '0') then
  return redis.error_reply('NOTANUMBER the key holds no whole number')
end
redis.call('set', number, value)
return old
