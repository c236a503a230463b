--- Adds to the number, and returns the sum.
---
---@key counter string
---@arg delta float
---@return float sum
---@error NOTANUMBER the key holds a text that is no number
---@error OVERFLOW the sum is beyond the range of a double
---@include float_plus.lua
local value = number(redis.call('get', counter) or '0')
if not value then
  return redis.error_reply('NOTANUMBER the key holds no number')
end
return plus(counter, value, delta) or redis.error_reply('OVERFLOW the sum is beyond the range of a double')
