--- Creates a semaphore with count free permits, unless it exists. If that can help a waiter, it publishes how many
--- are free.
---
---@key permits string                                  free permits
---@arg count int(0..2147483647)
---@arg ttl milliseconds?                              nil: the key has no expiry
---@command publish publish|spublish
---@channel free
---@return bool made
---@include rights.lua
if redis.call('get', permits) then
  return 0
end
may('set', permits)
if count ~= '0' then
  redis.call(publish, free, count)
end
if ttl then
  redis.call('set', permits, count, 'px', ttl)
else
  redis.call('set', permits, count)
end
return 1
