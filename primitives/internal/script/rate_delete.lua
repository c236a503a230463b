--- Deletes a limiter, and its grants to this client. It wakes all waiters.
---
---@key limiter hash          rate, interval, type, keepAliveTime
---@key value string          permits that are in no grant of any client
---@key own_value string      the same for the grants of this client, if each client has its own permits
---@key permits zset          grant of any client -> its time
---@key own_permits zset      grant of this client -> its time
---@command publish publish|spublish
---@channel changed
---@return bool deleted       false: there was none
---@include rate_fields.lua
local there, strange = fields_of(limiter)
if strange then
  return strange
end
if there then
  redis.call(publish, changed, '2147483647')
end
redis.call('del', limiter)
redis.call('del', value)
redis.call('del', own_value)
redis.call('del', permits)
redis.call('del', own_permits)
return there and 1 or 0
