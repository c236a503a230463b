--- Takes permits if enough are free, and returns how many are left. Nothing is taken if the user lacks a permission
--- that this or the release needs.
---
---@key permits string                             free permits
---@arg wanted int(1..2147483647)
---@command publish publish|spublish
---@channel released
---@return bool taken
---@return int(-2147483648..2147483647) left      free permits, after the grant
---@error NOTANUMBER the key holds no count of permits
---@include permits.lua
---@include rights.lua
local free = count(redis.call('get', permits) or '0')
if not free then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
if free < tonumber(wanted) then
  return {0, free}
end
may('incrby', permits)
may('pexpire', permits)
may(publish, released)
return {1, redis.call('decrby', permits, wanted)}
