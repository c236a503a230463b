--- Allows limit calls in each interval, and repairs a window that lost its end.
---@key window string
---@arg limit int(1..1000000)
---@arg interval milliseconds
---@return int left
---@return milliseconds wait
local used = redis.call('incr', window)
if redis.call('pttl', window) < 0 then
  redis.call('pexpire', window, interval)
end
local left = limit - used
if left < 0 then
  return {0, redis.call('pttl', window)}
end
return {left, 0}
