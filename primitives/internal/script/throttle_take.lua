--- Takes permits of a throttle. A refusal writes only if the server's clock was set back: otherwise the caller would have
--- to wait for the time that the clock lost.
---
---@key throttle string            seconds micros owed [parts of]
---@arg wanted int(1..10000000)
---@arg permits int(1..10000000)   in an interval
---@arg interval int(1000..31622400000000)   microseconds
---@arg burst int(1..10000000)     permits
---@return bool taken
---@return int now                 the server's time, in microseconds
---@return int remaining           permits that are free now
---@return int retry               microseconds until the wanted permits are free; 0: they were
---@return int reset               microseconds until all permits are free
---@error OTHERKIND the key holds a text that is no throttle
---@failfast
---@include throttle.lua
---@include throttle_store.lua
local now, at = moment()
local of, each = permits + 0, interval + 0
local time, parts, back, strange = debt_of(throttle, permits, now)
if strange then
  return strange
end
local most, rest = price(of, each, burst + 0)
local after, with = added(of, each, time, parts, wanted + 0)
local retry = over(after, with, most, rest)
local taken = retry <= 0
if taken then
  time, parts, retry = after, with, 0
end
if taken or back then
  store(throttle, at, time, parts, permits)
end
local remaining = free(of, each, time, parts, most, rest)
return {taken, now, remaining, retry, time + (parts > 0 and 1 or 0)}
