--- Sets the latch, unless it is set.
---
---@key latch string                        the count
---@arg count int(1..9223372036854775807)
---@arg life milliseconds?                  nil: the key has no end
---@command publish publish|spublish
---@channel counted
---@return bool set
if redis.call('get', latch) then
  return 0
end
redis.call(publish, counted, '1')
if life then
  redis.call('set', latch, count, 'px', life)
else
  redis.call('set', latch, count)
end
return 1
