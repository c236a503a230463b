--- Takes permits of one throttle, or of several. If one of them has too few, it takes none from any. A refusal writes
--- only if the server's clock was set back: otherwise the caller would have to wait for the time that the clock lost.
---
---@key throttles string...        at owed [parts of]
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
---@include throttle.lua
---@include throttle_store.lua
---@include rights.lua
local now, taken = micros(), true
local states, remaining, retry, reset = {}, {}, {}, {}
for i, throttle in ipairs(throttles) do
  local of, interval, wanted = tonumber(permits[i]), tonumber(intervals[i]), tonumber(takes[i])
  local time, parts, back, strange = debt_of(throttle, of, now)
  if strange then
    return strange
  end
  local most, rest = price(of, interval, tonumber(bursts[i]))
  local after, with = added(of, interval, time, parts, wanted)
  retry[i] = wanted > 0 and over(after, with, most, rest) or 0
  taken = taken and retry[i] == 0
  states[i] = {time, parts, back, most, rest, after, with}
end
for i, throttle in ipairs(throttles) do
  if i > 1 then
    may('set', throttle) -- Before the first write: after a refused one it would have taken some permits.
  end
end
for i, throttle in ipairs(throttles) do
  local of, interval = tonumber(permits[i]), tonumber(intervals[i])
  local time, parts, back, most, rest, after, with = unpack(states[i])
  if taken then
    time, parts = after, with
  end
  if taken and takes[i] ~= '0' or back then
    store(throttle, now, time, parts, of)
  end
  remaining[i] = free(of, interval, tonumber(bursts[i]), time, parts, most, rest)
  reset[i] = time + (parts > 0 and 1 or 0)
end
return {taken, now, remaining, retry, reset}
