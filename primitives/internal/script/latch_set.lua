--- Sets the latch, unless it is set.
---
---@key latch string                        the count
---@arg count int(1..9223372036854775807)
---@arg ttl milliseconds?                  nil: the key has no expiry
---@command publish publish|spublish
---@channel counted
---@return bool set
if redis.call('get', latch) then
  return 0
end
redis.call(publish, counted, '1')
if ttl then
  redis.call('set', latch, count, 'px', ttl)
else
  redis.call('set', latch, count)
end
return 1
