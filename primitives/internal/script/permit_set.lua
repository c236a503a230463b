--- Creates a permit semaphore with total permits, or changes its total. If more permits are free then, it publishes
--- how many. Taken permits stay taken: the number of free permits may be less than 0 then.
---
---@key permits string                  free permits
---@key leases zset                     id -> when its lease ends
---@key twin string                     free permits of the semaphore that has the same leases; if there is none, of this semaphore
---@arg total int(0..2147483647)        free and taken permits
---@arg change bool                     even if there is a semaphore
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
