--- Sets a rate. Earlier grants still count. It wakes all waiters: some may wait for more permits than an interval has
--- now.
---
---@key limiter hash          rate, interval, type, keepAliveTime
---@key value string          permits that are in no grant of any client
---@key own_value string      the same for the grants of this client, if each client has its own permits
---@key permits zset          grant of any client -> its time
---@key own_permits zset      grant of this client -> its time
---@arg rate int(1..2147483647)
---@arg interval milliseconds
---@arg own bool              each client has its own permits
---@arg alive milliseconds(0..)    how long the limiter exists without use; 0: forever
---@arg create bool           set it even if there is no rate
---@arg change bool           set it even if there is a rate
---@command publish publish|spublish
---@channel changed
---@return bool set
---@include rate.lua
local before, strange = fields_of(limiter)
if strange then
  return strange
end
if before and not change or not before and not create then
  return 0
end
local valued, grants = value, permits
if own then
  valued, grants = own_value, own_permits
end
local limit = {rate = tonumber(rate), interval = tonumber(interval), own = own, alive = tonumber(alive)}
local known, held = before and limit_in(before), 0
if own or known then
  held = held_of(known or limit, valued, grants)
else
  held = sum(grants, 0, redis.call('zcard', grants) - 1)
end
ask(limiter, valued, grants)
may('hset', limiter)
may('del', valued)
may('persist', limiter)
if before then
  redis.call(publish, changed, '2147483647')
end
if before and (before[3] == '1') ~= own then
  -- Their values have another meaning.
  redis.call('del', value, own_value, permits, own_permits)
  held = 0
end
redis.call('hset', limiter, 'rate', rate, 'interval', interval, 'keepAliveTime', alive, 'type', own and '1' or '0')
if limit.alive == 0 then
  redis.call('persist', limiter)
  redis.call('persist', grants)
end
if held == 0 then
  redis.call('del', valued)
end
keep(limiter, valued, grants, limit, held > 0 and held or nil)
return 1
