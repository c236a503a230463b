--- A throttle: a rate with a burst, by the generic cell rate algorithm. Its key has one short text: when permits were
--- last granted, in seconds and microseconds of the server's clock, and how many microseconds the rate takes to free all
--- that were in use then. If a part of a microsecond is owed, too, the text goes on with two numbers: the parts, and how
--- many of them a microsecond has, which is the number of permits in an interval. So all arithmetic is by whole numbers
--- below 2^53, and exact: with at most 10 000 000 permits, an interval of 366 days at most, and a burst and a debt that
--- take at most three years. So what is owed has at most 14 digits, which Lua writes exactly.
---
--- Each call runs this, so it is written for speed: "+ 0" and "%" cost less than tonumber and math.floor.
---
---@library

-- price returns how long a rate takes for n permits: microseconds and parts.
local function price(permits, interval, n)
  local rest = interval % permits
  local parts = rest * n % permits
  return (interval - rest) / permits * n + (rest * n - parts) / permits, parts
end

-- debt_of returns what is owed at a time: microseconds and parts, and whether the clock was set back since the last
-- grant: then no time has passed. permits is a text. If it was another one, parts are rounded up. If the key holds
-- another program's text, debt_of returns nil, and an error at last.
local function debt_of(throttle, permits, now)
  local text = redis.call('get', throttle)
  if not text then
    return 0, 0, false, nil
  end
  local seconds, micros, owed, rest, of = string.match(text, '^(%d+) (%d+) (%d+) ?(%d*) ?(%d*)$')
  local strange = not owed or #seconds > 11 or #micros > 6 or #text > 51 or owed + 0 > 94608000000000
  if strange or rest == '' and #text > #seconds + #micros + #owed + 2 or rest ~= '' and rest + 0 >= (tonumber(of) or 0) then
    return nil, nil, nil, redis.error_reply('OTHERKIND the key holds a text that is no throttle')
  end
  local time, parts, passed = owed + 0, 0, now - (seconds * 1000000 + micros)
  if of == permits then
    parts = rest + 0
  elseif of ~= '' then
    time = time + 1
  end
  if passed > time then
    return 0, 0, false, nil
  elseif passed < 0 then
    return time, parts, true, nil
  end
  return time - passed, parts, false, nil
end

-- added returns what is owed after n more permits.
local function added(permits, interval, time, parts, n)
  local more, rest = price(permits, interval, n)
  if parts + rest >= permits then
    return time + more + 1, parts + rest - permits
  end
  return time + more, parts + rest
end

-- over returns how many microseconds more is owed than by a whole burst, rounded up. If no more is, it is not positive.
local function over(time, parts, most, rest)
  return time - most + (parts > rest and 1 or 0)
end

-- free returns how many more permits fit into a burst. The guess has errors of rounding, which are far below a
-- ten-millionth: so only a guess that is just a whole number may be one too high.
local function free(permits, interval, time, parts, most, rest)
  local guess = (most - time + (rest - parts) / permits) / interval * permits + 0.0000001
  local n = guess - guess % 1
  if n <= 0 then
    return 0
  elseif guess - n < 0.0000002 then
    local after, with = added(permits, interval, time, parts, n)
    return over(after, with, most, rest) > 0 and n - 1 or n
  end
  return n
end

-- moment returns the server's time in microseconds, and as the text of a throttle has it.
local function moment()
  local time = redis.call('time')
  return time[1] * 1000000 + time[2], time[1] .. ' ' .. time[2]
end
