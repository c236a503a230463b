--- Adds to the number, and returns the sum. The server adds with more digits than a double has, and
--- beyond a double's range.
---
---@key counter string
---@arg delta float
---@return float sum
---@error NOTANUMBER the key holds a text that is no number
---@error OVERFLOW the sum is beyond the range of a double
---@include float.lua
local value = number(redis.call('get', counter) or '0')
if not value then
  return redis.error_reply('NOTANUMBER the key holds no number')
end
local sum = value + number(delta)
if sum - sum ~= 0 then
  return redis.error_reply('OVERFLOW the sum is beyond the range of a double')
end
return redis.call('incrbyfloat', counter, delta)
