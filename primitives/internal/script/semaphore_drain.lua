--- Takes all permits that are free, and returns how many.
---
---@key permits string                                  free permits
---@return int(0..2147483647) drained
---@error NOTANUMBER the key holds no count of permits
---@include permits.lua
---@include rights.lua
local free = count(redis.call('get', permits) or '0')
if not free then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
if free <= 0 then
  return 0
end
may('incrby', permits)
redis.call('set', permits, '0', 'keepttl')
return free
