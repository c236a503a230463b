--- Takes permits if enough are free, and returns how many are left. If there is no semaphore, it first creates one.
--- If that can help a waiter, it publishes how many are free.
---
---@key permits string                             free permits
---@arg wanted int(1..2147483647)
---@arg total int(1..2147483647)                   of a semaphore that it creates
---@arg ttl milliseconds?                         of such a semaphore; nil: the key does not expire
---@command publish publish|spublish
---@channel released
---@return bool taken
---@return int(-2147483648..2147483647) left      free permits, after the grant
---@error NOTANUMBER the key holds no count of permits
---@include permits.lua
---@include rights.lua
local text = redis.call('get', permits)
local free = count(text or total)
if not free then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
may('incrby', permits)
may('pexpire', permits)
may(publish, released)
local taken = free >= tonumber(wanted) and 1 or 0
if text then
  if taken == 1 then
    free = redis.call('decrby', permits, wanted)
  end
  return {taken, free}
end
local left = free - taken * tonumber(wanted)
if left > 0 then
  redis.call(publish, released, string.format('%.0f', left))
end
if ttl then
  redis.call('set', permits, string.format('%.0f', left), 'px', ttl)
else
  redis.call('set', permits, string.format('%.0f', left))
end
return {taken, left}
