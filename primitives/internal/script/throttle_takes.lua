--- Takes permits of several throttles, or of none.
---
---@library
---@include throttle.lua
---@include throttle_store.lua
---@include rights.lua

-- asked returns the states of the throttles, now and after a take; for each the microseconds until the wanted permits
-- are free; and the longest of these times, which is 0 if all are free. If a key holds another program's text, it
-- returns an error at last. It writes nothing.
local function asked(throttles, takes, permits, intervals, bursts, now)
  local states, retry, longest = {}, {}, 0
  for i, throttle in ipairs(throttles) do
    local of, interval, wanted = tonumber(permits[i]), tonumber(intervals[i]), tonumber(takes[i])
    local time, parts, back, strange = debt_of(throttle, permits[i], now)
    if strange then
      return nil, nil, nil, strange
    end
    local most, rest = price(of, interval, tonumber(bursts[i]))
    local after, with = added(of, interval, time, parts, wanted)
    retry[i] = wanted > 0 and math.max(0, over(after, with, most, rest)) or 0
    longest = math.max(longest, retry[i])
    states[i] = {time, parts, back, most, rest, after, with}
  end
  return states, retry, longest, nil
end

-- settled takes the permits if taken is true, and returns for each throttle the permits that are free then, and the
-- microseconds until all are. Even if taken is false, it writes the state of a throttle since whose last grant the clock
-- was set back. It checks all permissions before its first write, but for that of the first throttle.
local function settled(throttles, takes, permits, intervals, at, states, taken)
  for i, throttle in ipairs(throttles) do
    if i > 1 then
      may('set', throttle) -- Before the first write: after a refused one it would have taken some permits.
    end
  end
  local remaining, reset = {}, {}
  for i, throttle in ipairs(throttles) do
    local of, interval = tonumber(permits[i]), tonumber(intervals[i])
    local time, parts, back, most, rest, after, with = unpack(states[i])
    if taken then
      time, parts = after, with
    end
    if taken and takes[i] ~= '0' or back then
      store(throttle, at, time, parts, permits[i])
    end
    remaining[i] = free(of, interval, time, parts, most, rest)
    reset[i] = time + (parts > 0 and 1 or 0)
  end
  return remaining, reset
end
