--- Counts a call in a window.
---
---@key calls string
---@arg limit int(1..1000000)
---@arg window milliseconds(0..3600000)
---@return bool allowed
local n = redis.call('incr', calls)
if n == 1 then
  redis.call('pexpire', calls, window)
end
return n <= tonumber(limit)
