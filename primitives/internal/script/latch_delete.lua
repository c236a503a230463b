--- Deletes the latch and releases all waiters. Redisson's message for a deletion, 1, releases none.
---
---@key latch string                        the count
---@command publish publish|spublish
---@channel counted
---@return bool deleted
if not redis.call('get', latch) then
  return 0
end
redis.call(publish, counted, '0')
redis.call('del', latch)
return 1
