--- Sets a latch that counts each part once, unless it is set, or is known to have been opened.
---
---@key latch string                        the count
---@key parts hash                          counted part -> 1; empty -> the TTL in milliseconds, 0 once the latch is open
---@arg count int(1..9223372036854775807)
---@arg ttl milliseconds
---@command publish publish|spublish
---@channel counted
---@return bool set
---@include rights.lua
if redis.call('get', latch) or redis.call('hget', parts, '') == '0' then
  return 0
end
may('set', latch)
may('del', parts)
may('hset', parts)
redis.call('pexpire', parts, ttl, 'nx') -- If it is refused, nothing is written.
redis.call(publish, counted, '1')
redis.call('set', latch, count, 'px', ttl)
redis.call('del', parts) -- Of a latch that is gone.
redis.call('hset', parts, '', ttl)
redis.call('pexpire', parts, ttl)
return 1
