--- A throttle: a rate with a burst, by the generic cell rate algorithm. Its key has one short text, at and owed: when
--- permits were last granted, and how long the rate takes to free all that were in use then. Both are whole
--- microseconds of the server's clock. If a part of a microsecond is owed, too, the text goes on with two numbers: the
--- parts, and how many of them a microsecond has, which is the number of permits in an interval. So all arithmetic is
--- by whole numbers below 2^53, and exact: with at most 10 000 000 permits, an interval of 366 days at most, and a burst
--- that takes at most ten years.
---
---@library
---@include clock.lua

-- price returns how long a rate takes for n permits: microseconds and parts.
local function price(permits, interval, n)
  local parts = interval % permits * n
  return math.floor(interval / permits) * n + math.floor(parts / permits), parts % permits
end

-- debt_of returns what is owed at a time: microseconds and parts, and whether the clock was set back since the last
-- grant: then no time has passed. If the rate was another one, parts are rounded up. If the key holds another program's
-- text, debt_of returns nil, and an error at last.
local function debt_of(throttle, permits, now)
  local text = redis.call('get', throttle)
  if not text then
    return 0, 0, false, nil
  end
  local at, owed, rest, of = string.match(text, '^(%d+) (%d+) ?(%d*) ?(%d*)$')
  local time, parts, passed = tonumber(owed), tonumber(rest) or 0, now - (tonumber(at) or 0)
  if not time or time > 315360000000000 or parts > 0 and parts >= (tonumber(of) or 0) then
    return nil, nil, nil, redis.error_reply('OTHERKIND the key holds a text that is no throttle')
  end
  if parts > 0 and tonumber(of) ~= permits then
    time, parts = time + 1, 0
  end
  if passed > time then
    return 0, 0, false, nil
  end
  return time - math.max(0, passed), parts, passed < 0, nil
end

-- added returns what is owed after n more permits.
local function added(permits, interval, time, parts, n)
  local more, rest = price(permits, interval, n)
  if parts + rest >= permits then
    return time + more + 1, parts + rest - permits
  end
  return time + more, parts + rest
end

-- over returns how many microseconds more is owed than by a whole burst, rounded up; 0: no more is.
local function over(time, parts, most, rest)
  return math.max(0, time - most + (parts > rest and 1 or 0))
end

-- free returns how many more permits fit into a burst. The first guess is right but for errors of rounding, which are
-- far below a ten-millionth: it may be one too high.
local function free(permits, interval, burst, time, parts, most, rest)
  local left = (most - time + (rest - parts) / permits) / interval * permits
  local n = math.min(burst, math.floor(left + 0.0000001))
  if n > 0 then
    local more, with = added(permits, interval, time, parts, n)
    if over(more, with, most, rest) > 0 then
      n = n - 1
    end
  end
  return math.max(0, n)
end
