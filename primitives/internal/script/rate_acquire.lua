--- Takes permits if enough are free. Otherwise it returns when there will be enough. If no rate is set, and the
--- caller gives a rate, it first creates the limiter. A refusal takes nothing, but it counts as use of the limiter,
--- and corrects errors: grants of the future, and a value that does not fit the grants. It does not prolong the keys
--- of the grants: they expire an interval after the last grant at the earliest, when all grants are old.
---
---@key limiter hash          rate, interval, type, keepAliveTime
---@key value string          permits that are in no grant of any client
---@key own_value string      the same for the grants of this client, if each client has its own permits
---@key permits zset          grant of any client -> its time
---@key own_permits zset      grant of this client -> its time
---@arg wanted int(1..2147483647)
---@arg grant bytes           the length 16, 16 random bytes, and the number of permits, as Redisson packs them
---@arg least int(0..2147483647)  the smallest need of the client's other waiters; 0: there are none
---@arg spare int(0..2147483647)  look for this many more free permits, for the client's other waiters
---@arg rate int(0..2147483647)   of a limiter that it creates; 0: it creates none
---@arg interval milliseconds(0..)     of such a limiter
---@arg own bool                  each client has its own permits
---@arg alive milliseconds(0..)        how long such a limiter exists without use; 0: forever
---@return bool taken
---@return int left           free permits, after the grant
---@return milliseconds wait  until a waiter, or the caller, can be granted; 0: unknown, or at once
---@return string? other      rate, interval and type of the limiter, if the caller gives others
---@error NORATE nobody has set a rate
---@error TOOMANY an interval has fewer permits
---@error NOTANUMBER the limiter's hash has another text in the place of a number
---@include rate.lua
local limit, bad = limit_of(limiter)
if bad then
  return bad
end
local make = not limit
if make then
  if rate == '0' then
    return redis.error_reply('NORATE nobody has set a rate')
  end
  limit = {rate = tonumber(rate), interval = tonumber(interval), own = own, alive = tonumber(alive)}
end
local other = false
if rate ~= '0' and (limit.rate ~= tonumber(rate) or limit.interval ~= tonumber(interval) or limit.own ~= own) then
  other = string.format('%.0f %.0f ', limit.rate, limit.interval) .. (limit.own and '1' or '0')
end
local need = tonumber(wanted)
if need > limit.rate then
  return redis.error_reply('TOOMANY an interval has fewer permits')
end
local valued, grants = value, permits
if limit.own then
  valued, grants = own_value, own_permits
end
ask(limiter, valued, grants)
local early, late = clock_bounds()
settle(limit, valued, grants, late)
local held, number = held_of(limit, valued, grants)
local free = limit.rate - held
local old, back = ended(grants, held, number, early - limit.interval, need + tonumber(spare) - free)
local left = free + back
if left < need then
  local target = need
  if tonumber(least) > 0 and tonumber(least) < need then
    target = math.max(left + 1, tonumber(least))
  end
  local steps, more = walk(grants, held, number, old, number, target - left)
  local wait = 1
  if more < target - left then
    -- Some grants are missing, and the value is wrong.
    redis.call('set', valued, text_of(limit, back + more), 'keepttl')
  else
    local _, at = grant_at(grants, old + steps - 1)
    wait = at + limit.interval - early
  end
  if limit.alive > 0 then
    redis.call('pexpire', limiter, limit.alive)
  end
  return {0, math.max(0, left), math.max(1, wait), other}
end
left = left - need
if make then
  redis.call('hset', limiter, 'rate', rate, 'interval', interval, 'keepAliveTime', alive, 'type', own and '1' or '0')
end
redis.call('zadd', grants, late, grant)
if old > 0 then
  redis.call('zremrangebyrank', grants, 0, old - 1)
end
keep(limiter, valued, grants, limit, limit.rate - left)
local wait = 0
if left < tonumber(least) then
  number = redis.call('zcard', grants)
  local steps = walk(grants, limit.rate - left, number, 0, number, tonumber(least) - left)
  local _, at = grant_at(grants, steps - 1)
  wait = math.max(1, at + limit.interval - early)
end
return {1, left, wait, other}
