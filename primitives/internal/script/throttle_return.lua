--- Gives back permits that were taken at one time, but for those that the rate has freed since. So the outcome is never
--- laxer than if they had not been taken. If the server's clock was set back since, it gives back nothing.
---
---@key throttles string...        seconds micros owed [parts of]
---@arg granted int(0..9007199254740991)   the server's time of the grant, in microseconds
---@arg returns int(0..10000000)... per throttles
---@arg permits int(1..10000000)... per throttles          in an interval
---@arg intervals int(1000..31622400000000)... per throttles   microseconds
---@arg bursts int(1..10000000)... per throttles           permits
---@return int[] remaining         permits that are free now
---@return int[] reset             microseconds until all permits are free
---@error OTHERKIND a key holds a text that is no throttle
---@failfast
---@include throttle.lua
---@include throttle_store.lua
---@include rights.lua
local now, at = moment()
local states, remaining, reset = {}, {}, {}
for i, throttle in ipairs(throttles) do
  local of, interval = tonumber(permits[i]), tonumber(intervals[i])
  local time, parts, _, strange = debt_of(throttle, permits[i], now)
  if strange then
    return strange
  end
  local less, rest = price(of, interval, tonumber(returns[i]))
  less = less - (now - granted)
  local given = now >= tonumber(granted) and less >= 0
  if given then
    time, parts = time - less, parts - rest
    if parts < 0 then
      time, parts = time - 1, parts + of
    end
    if time < 0 then
      time, parts = 0, 0
    end
  end
  states[i] = {time, parts, given}
end
for i, throttle in ipairs(throttles) do
  if i > 1 then
    may('del', throttle)
    may('set', throttle) -- Before the first write: after a refused one some permits would have been given back.
  end
end
for i, throttle in ipairs(throttles) do
  local of, interval = tonumber(permits[i]), tonumber(intervals[i])
  local time, parts, given = unpack(states[i])
  if given and time + parts > 0 then
    store(throttle, at, time, parts, permits[i])
  elseif given then
    redis.call('del', throttle)
  end
  local most, rest = price(of, interval, tonumber(bursts[i]))
  remaining[i] = free(of, interval, time, parts, most, rest)
  reset[i] = time + (parts > 0 and 1 or 0)
end
return {remaining, reset}
