--- Deletes the number, and returns the number before.
---
---@key number string
---@return int? old         nil: there was none
---@error NOTANUMBER the key holds a text that is no whole number
---@include decimal.lua
local old = redis.call('get', number)
if not integer(old or '0') then
  return redis.error_reply('NOTANUMBER the key holds no whole number')
end
redis.call('del', number)
return old
