--- Allows limit calls in each interval. A user who may not call PEXPIRE is refused before a window is
--- there.
---@key window string
---@arg limit int(1..1000000)
---@arg interval milliseconds
---@return bool allowed
redis.call('pexpire', window, interval, 'nx')
local n = redis.call('incr', window)
if n == 1 then
  redis.call('pexpire', window, interval)
end
return n <= tonumber(limit) and 1 or 0
