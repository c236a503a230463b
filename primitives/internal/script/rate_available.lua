--- Returns how many permits are free, and when more are.
---
---@key limiter hash          rate, interval, type, keepAliveTime
---@key value string          permits that are in no grant of any client
---@key own_value string      the same for the grants of this client, if each client has its own permits
---@key permits zset          grant of any client -> its time
---@key own_permits zset      grant of this client -> its time
---@return int free
---@return milliseconds wait   until a permit is free; 0: one is
---@return milliseconds reset  until all are free, at most; 0: they are
---@error NORATE nobody has set a rate
---@error NOTANUMBER the limiter's hash has another text in the place of a number
---@retry safe
---@include rate.lua
local limit, bad = limit_of(limiter)
if bad then
  return bad
end
if not limit then
  return redis.error_reply('NORATE nobody has set a rate')
end
local valued, grants = value, permits
if limit.own then
  valued, grants = own_value, own_permits
end
local early, late = clock_bounds()
settle(limit, valued, grants, late)
local held, number = held_of(limit, valued, grants)
local old, back = ended(grants, held, number, early - limit.interval, all())
local free = limit.rate - held + back
local wait = 0
if free < 1 then
  local steps, more = walk(grants, held, number, old, number, 1 - free)
  wait = 1
  if more > -free then -- Otherwise some grants are missing.
    local _, at = grant_at(grants, old + steps - 1)
    wait = math.max(1, at + limit.interval - early)
  end
end
return {math.max(0, free), wait, free < limit.rate and limit.interval or 0}
