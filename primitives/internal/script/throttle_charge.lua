--- Takes permits that were used before they were granted: of those that are free, and further ones up to a bound.
---
---@key throttle string            seconds micros owed [parts of]
---@arg used int(1..10000000)
---@arg permits int(1..10000000)   in an interval
---@arg interval int(1000..31622400000000)   microseconds
---@arg bound int(1..20000000)     permits in use: the burst, and the debt
---@return int reset               microseconds until all permits are free
---@error OTHERKIND the key holds a text that is no throttle
---@failfast
---@include throttle.lua
---@include throttle_store.lua
local now, at = moment()
local of, each = permits + 0, interval + 0
local time, parts, _, strange = debt_of(throttle, permits, now)
if strange then
  return strange
end
local most, rest = price(of, each, bound + 0)
local after, with = added(of, each, time, parts, used + 0)
if over(after, with, most, rest) > 0 then
  after, with = most, rest
  if over(time, parts, most, rest) > 0 then
    after, with = time, parts -- By a caller with another limit.
  end
end
store(throttle, at, after, with, permits)
return after + (with > 0 and 1 or 0)
