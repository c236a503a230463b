--- Makes a permit semaphore with so many permits, or changes how many one has, and tells waiters how many
--- are free if there are more. What is taken stays taken: then less than none may be free.
---
---@key permits string                  free permits
---@key leases zset                     id -> when its lease ends
---@key twin string                     free permits of a semaphore with the same leases; if none has, of this one
---@arg total int(0..2147483647)        free permits and taken ones
---@arg change bool                     also if there is a semaphore
---@command publish publish|spublish
---@channel released
---@return bool set
---@error NOTANUMBER the key holds no count of permits
---@error SHARED another semaphore has the same leases
---@include permit_store.lua
local text = redis.call('get', permits)
if not text then
  if shared(twin) then
    return redis.error_reply('SHARED another semaphore has the same leases')
  end
  may('zremrangebyscore', leases)
  may('set', permits)
  if total ~= '0' then
    redis.call(publish, released, total)
  end
  redis.call('zremrangebyscore', leases, '-inf', '+inf')
  redis.call('set', permits, total)
  return 1
end
if not change then
  return 0
end
local free, now = count(text), clock()
if not free then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
local function tell(n)
  redis.call(publish, released, n)
end
local taken = redis.call('zcard', leases) - ended(leases, now)
store(permits, leases, now, free, tonumber(total) - taken, tell)
return 1
