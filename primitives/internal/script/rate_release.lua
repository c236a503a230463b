--- Releases permits that were acquired and not used: of the permits that are not free already it takes the oldest. It
--- wakes the waiters.
---
---@key limiter hash          rate, interval, type, keepAliveTime
---@key value string          permits that are in no grant of any client
---@key own_value string      the same for the grants of this client, if each client has its own permits
---@key permits zset          grant of any client -> its time
---@key own_permits zset      grant of this client -> its time
---@arg returned int(1..2147483647)
---@command publish publish|spublish
---@channel changed
---@return int released       permits that were released: no more were in use
---@error NORATE nobody has set a rate
---@error NOTANUMBER the limiter's hash has another text in the place of a number
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
ask(limiter, valued, grants)
may('zrem', grants)
may('zcard', grants)
may('del', valued)
may(publish, changed)
local early, late = clock_bounds()
settle(limit, valued, grants, late)
local held, number = held_of(limit, valued, grants)
local old, back = ended(grants, held, number, early - limit.interval, all())
local gone, given = walk(grants, held, number, old, number, tonumber(returned))
if gone == 0 then
  return 0
end
local last, at = grant_at(grants, old + gone - 1)
local rest = given - math.min(given, tonumber(returned))
local after = limit.rate - held + back + given - rest
if after > 0 then
  redis.call(publish, changed, string.format('%.0f', after))
end
local ends = old + gone
if rest > 0 then
  redis.call('zrem', grants, last) -- First: after it, a server without memory takes the zadd, too.
  redis.call('zadd', grants, at, packed(last, rest))
  ends = ends - 1
end
if ends > 0 then
  redis.call('zremrangebyrank', grants, 0, ends - 1)
end
local left = nil
if redis.call('zcard', grants) > 0 then
  left = limit.rate - after
else
  redis.call('del', valued)
end
keep(limiter, valued, grants, limit, left)
return given - rest
