--- Counts a part of a latch, unless it is counted already. The last one opens the latch: it releases all waiters, and
--- the parts stay for another TTL.
---
---@key latch string                        the count
---@key parts hash                          counted part -> 1; empty -> the TTL in milliseconds, 0 once the latch is open
---@arg part string
---@command publish publish|spublish
---@channel counted
---@return int? left                        nil: the latch is not there
---@error NOTANUMBER the key holds a text that is no whole number
---@include rights.lua
---@include latch_parts.lua
local left = missing(latch, parts)
if not left or left == '0' or left.err or redis.call('hget', parts, part) then
  return left
end
local ttl = redis.call('hget', parts, '')
may('hset', parts)
may('decr', latch)
may('del', latch)
redis.call('pexpire', parts, ttl, 'nx') -- It changes nothing: after it, a server without memory takes the rest, too.
if left ~= '1' then
  redis.call('hset', parts, part, 1)
  redis.call('decr', latch)
  return redis.call('get', latch) -- Lua rounds the number that decr returns, if it is large.
end
redis.call(publish, counted, '0')
redis.call('del', latch)
redis.call('hset', parts, part, 1, '', 0)
redis.call('pexpire', parts, ttl)
return 0
