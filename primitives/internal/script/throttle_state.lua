--- Returns the state of throttles, for callers that take one permit.
---
---@key throttles string...        seconds micros owed [parts of]
---@arg permits int(1..10000000)... per throttles          in an interval
---@arg intervals int(1000..31622400000000)... per throttles   microseconds
---@arg bursts int(1..10000000)... per throttles           permits
---@return int[] remaining         permits that are free now
---@return int[] retry             microseconds until a permit is free; 0: one is
---@return int[] reset             microseconds until all permits are free
---@error OTHERKIND a key holds a text that is no throttle
---@readonly
---@failfast
---@include throttle.lua
local now = moment()
local remaining, retry, reset = {}, {}, {}
for i, throttle in ipairs(throttles) do
  local of, interval = tonumber(permits[i]), tonumber(intervals[i])
  local time, parts, _, strange = debt_of(throttle, permits[i], now)
  if strange then
    return strange
  end
  local most, rest = price(of, interval, tonumber(bursts[i]))
  local after, with = added(of, interval, time, parts, 1)
  remaining[i] = free(of, interval, time, parts, most, rest)
  retry[i], reset[i] = math.max(0, over(after, with, most, rest)), time + (parts > 0 and 1 or 0)
end
return {remaining, retry, reset}
