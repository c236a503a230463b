--- A time whose minimum is written as 0 may be 0, and so is no expiry.
---@key calls string
---@arg window milliseconds(0..)
---@arg least seconds(..60)
---@return int n
local n = redis.call('incr', calls)
if n == 1 then
  redis.call('pexpire', calls, window)
else
  redis.call('expire', calls, least, 'lt')
end
return n
