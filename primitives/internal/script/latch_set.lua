--- Sets the latch, unless it is set.
---
---@key latch string                        the count
---@arg count int(1..9223372036854775807)
---@command publish publish|spublish
---@channel counted
---@return bool set
if redis.call('get', latch) then
  return 0
end
redis.call(publish, counted, '1')
redis.call('set', latch, count)
return 1
