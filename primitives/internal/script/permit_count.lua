--- Returns how many permits are free, and how many are taken.
---
---@key permits string      free permits
---@key leases zset         id -> when its lease ends
---@return int(-2147483648..4294967295) free    including permits whose leases have ended
---@return int(0..4294967295) acquired
---@error NOTANUMBER the key holds no count of permits
---@readonly
---@include permit_leases.lua
local text = redis.call('get', permits)
if not text then
  return {0, 0}
end
local free = count(text)
if not free then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
local back = ended(leases, clock())
return {free + back, redis.call('zcard', leases) - back}
