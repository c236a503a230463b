--- Returns the rest of the lease of one permit.
---
---@key permits string      free permits
---@key leases zset         id -> when its lease ends
---@arg id string
---@return milliseconds left   0: there is no such permit, or its lease has ended; -1 ms: it has no expiry
---@error NOTANUMBER the key holds no count of permits
---@readonly
---@include permit_leases.lua
local text = redis.call('get', permits)
if not text then
  return 0
end
if not count(text) then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
local ends = tonumber(redis.call('zscore', leases, id) or '0')
if ends >= 922337203685477 then -- Redisson's score of a lease without an expiry.
  return -1
end
return math.max(0, math.ceil(ends - clock()))
