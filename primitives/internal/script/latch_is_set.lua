--- Reports whether the latch is set.
---
---@key latch string                        the count
---@return bool set
---@error NOTANUMBER the key holds a text that is no whole number
---@include decimal.lua
---@readonly
local count = redis.call('get', latch)
if not count then
  return 0
end
if not integer(count) then
  return redis.error_reply('NOTANUMBER the key holds no whole number')
end
return 1
