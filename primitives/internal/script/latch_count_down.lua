--- Counts down by one, and at zero releases all waiters. A latch that is not set stays so.
---
---@key latch string                        the count
---@command publish publish|spublish
---@channel counted
---@return int left
local count = redis.call('get', latch)
if not count then
  return 0
end
if count ~= '1' then
  return redis.call('decr', latch)
end
redis.call(publish, counted, '0')
redis.call('del', latch)
return 0
