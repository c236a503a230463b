--- Adds permits, or removes permits if delta is negative. If that can help a waiter, it publishes how many are free.
--- If any of that is refused, nothing has been written.
---
---@key permits string                                  free permits
---@arg delta int(-2147483647..2147483647)
---@arg create bool                                     even if there is no semaphore
---@command publish publish|spublish
---@channel free
---@return bool added                                   false: there is no semaphore
---@error OVERFLOW more permits than a Java int holds, or less
---@error NOTANUMBER the key holds no count of permits
---@include permits.lua
---@include rights.lua
local text = redis.call('get', permits)
if not text and not create then
  return 0
end
local before = count(text or '0')
if not before then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
local after = before + tonumber(delta)
if after > 2147483647 or after < -2147483648 then
  return redis.error_reply('OVERFLOW more permits than a Java int holds, or less')
end
may('incrby', permits)
may('pexpire', permits)
if after > before and after > 0 then
  redis.call(publish, free, string.format('%.0f', after))
end
redis.call('pexpire', permits, 1, 'gt') -- It changes nothing: after it, a server without memory takes the incrby, too.
redis.call('incrby', permits, delta)
return 1
