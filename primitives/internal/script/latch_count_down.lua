--- Counts down by one, and at zero releases all waiters. A latch that is not set stays unset. A latch at zero or
--- less, which Redisson's trySetCount may leave, is deleted like a latch at 1.
---
---@key latch string                        the count
---@command publish publish|spublish
---@channel counted
---@return int left
---@include decimal.lua
---@include rights.lua
if not redis.acl_check_cmd then
  modern() -- PEXPIRE knows no GT before.
end
local count = redis.call('get', latch)
if not count then
  return 0
end
if not integer(count) or less('1', count) then
  redis.call('pexpire', latch, 1, 'gt') -- It changes nothing: after it, a server without memory takes the decr, too.
  local left = redis.call('decr', latch) -- It fails if the text is not a number.
  return left < 9007199254740992 and left or redis.call('get', latch) -- Lua rounds larger numbers.
end
redis.call(publish, counted, '0')
redis.call('del', latch)
return 0
