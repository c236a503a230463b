--- Takes permits of several throttles. If one of them has too few, it takes none from any. A refusal writes
--- only if the server's clock was set back: otherwise the caller would have to wait for the time that the clock lost.
---
---@key throttles string...        seconds micros owed [parts of]
---@arg takes int(0..10000000)... per throttles
---@arg permits int(1..10000000)... per throttles          in an interval
---@arg intervals int(1000..31622400000000)... per throttles   microseconds
---@arg bursts int(1..10000000)... per throttles           permits
---@return bool taken
---@return int now                 the server's time, in microseconds
---@return int[] remaining         permits that are free now
---@return int[] retry             microseconds until the wanted permits are free; 0: they were
---@return int[] reset             microseconds until all permits are free
---@error OTHERKIND a key holds a text that is no throttle
---@failfast
---@include throttle_takes.lua
local now, at = moment()
local states, retry, longest, strange = asked(throttles, takes, permits, intervals, bursts, now)
if strange then
  return strange
end
local remaining, reset = settled(throttles, takes, permits, intervals, at, states, longest == 0)
return {longest == 0, now, remaining, retry, reset}
