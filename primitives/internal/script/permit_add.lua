--- Adds permits, or removes permits, free or taken, if delta is negative. If more permits are free then, it publishes
--- how many. It creates a missing semaphore.
---
---@key permits string                  free permits
---@key leases zset                     id -> when its lease ends
---@key twin string                     free permits of the semaphore that has the same leases; if there is none, of this semaphore
---@arg delta int(-2147483647..2147483647)
---@command publish publish|spublish
---@channel released
---@return bool added
---@error OVERFLOW more permits than a Java int holds, or less
---@error NOTANUMBER the key holds no count of permits
---@error SHARED another semaphore has the same leases
---@include permit_store.lua
local text, now = redis.call('get', permits), clock()
if not text and shared(twin) then
  return redis.error_reply('SHARED another semaphore has the same leases')
end
local free, taken, after = count(text or '0'), 0, tonumber(delta)
if not free then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
if text then
  local back = ended(leases, now)
  taken = redis.call('zcard', leases) - back
  after = free + back + tonumber(delta)
end
if after + taken > 2147483647 or after < -2147483648 then
  return redis.error_reply('OVERFLOW more permits than a Java int holds, or less')
end
store(permits, leases, now, free, after, function(n)
  redis.call(publish, released, n)
end)
if not text then
  redis.call('zremrangebyscore', leases, '-inf', '+inf')
end
return 1
