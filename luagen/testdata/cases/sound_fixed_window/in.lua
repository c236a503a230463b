--- Allows limit calls in each interval.
---@key window string
---@arg limit int(1..1000000)
---@arg interval milliseconds
---@return bool allowed
local n = redis.call('incr', window)
if n == 1 then
  redis.call('pexpire', window, interval)
end
if n > tonumber(limit) then
  return 0
end
return 1
