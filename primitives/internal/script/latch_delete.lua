--- Deletes the latch and releases all waiters. Redisson's message for a deletion, 1, releases none.
---
---@key latch string                        the count
---@key parts hash                          the counted parts
---@command publish publish|spublish
---@channel counted
---@return bool deleted
if redis.call('get', latch) then
  redis.call(publish, counted, '0')
end
return redis.call('del', latch) + redis.call('del', parts) > 0
