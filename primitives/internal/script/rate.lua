--- A rate limiter. Its hash has the number of permits in an interval. Each grant is a member of a sorted set, with
--- the time of the grant as its score, until it is so old that its permits are free again. The member ends with the
--- number of permits, in four bytes. A value has the number of permits that are in no grant, old grants included. If
--- each client has its own permits, a client's value instead has the number of permits in its grants: another client
--- may change the rate, and does not know the values of all clients.
---
---@library
---@include permits.lua
---@include rights.lua
---@include rate_fields.lua

-- all returns more permits, grants or milliseconds than there can be.
local function all()
  return 9007199254740991
end

-- span returns the milliseconds in text, or nil if the text is no such number.
local function span(text)
  local n = tonumber(text)
  if n and n >= 0 and n <= 9223372036854 and n == math.floor(n) then
    return n
  end
  return nil
end

-- limit_in returns the limit in the fields of a limiter's hash, or nil if a text there is no number that it can be.
local function limit_in(fields)
  local limit = {
    rate = count(fields[1]), interval = span(fields[2]), own = fields[3] == '1', alive = span(fields[4] or '0'),
  }
  return limit.rate and limit.rate >= 0 and limit.interval and limit.alive and limit or nil
end

-- limit_of returns the limit in a limiter's hash, or nil if there is no hash. If the hash is another program's, or a
-- text there is no number, it returns nil and an error.
local function limit_of(limiter)
  local fields, strange = fields_of(limiter)
  local limit = fields and limit_in(fields)
  if fields and not limit then
    return nil, redis.error_reply('NOTANUMBER the limiter has a text in the place of a number')
  end
  return limit, strange
end

-- clock_bounds returns the server's time in milliseconds, rounded down and up. A new grant gets the later time, and
-- its age counts by the earlier time: so the grants within one interval never have more permits than the interval.
local function clock_bounds()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000 + math.ceil(time[2] / 1000)
end

-- permits_of returns the number of permits in a grant.
local function permits_of(grant)
  local a, b, c, d = string.byte(grant, -4, -1)
  return d and a + b * 256 + c * 65536 + d * 16777216 or 0
end

-- packed returns a grant with another number of permits.
local function packed(grant, permits)
  return string.sub(grant, 1, -5) .. string.char(
    permits % 256, math.floor(permits / 256) % 256, math.floor(permits / 65536) % 256,
    math.floor(permits / 16777216))
end

-- grant_at returns the grant of a rank, and its time.
local function grant_at(grants, rank)
  local found = redis.call('zrange', grants, rank, rank, 'withscores')
  return found[1], tonumber(found[2])
end

-- sum returns the number of permits in the grants from one rank to another.
local function sum(grants, from, to)
  local permits = 0
  for rank = from, to, 1000 do
    for _, grant in ipairs(redis.call('zrange', grants, rank, math.min(to, rank + 999))) do
      permits = permits + permits_of(grant)
    end
  end
  return permits
end

-- held_of returns the number of permits in all grants, and the number of grants. If the value is missing, or too
-- small for the grants, it counts the permits.
local function held_of(limit, value, grants)
  local number, kept = redis.call('zcard', grants), count(redis.call('get', value) or '')
  local held = kept
  if kept and not limit.own then
    held = limit.rate - kept
  end
  if not held or held < number then
    held = sum(grants, 0, number - 1)
  end
  return held, number
end

-- text_of returns the value of a limiter whose grants have held permits.
local function text_of(limit, held)
  return string.format('%.0f', limit.own and held or limit.rate - held)
end

-- sum_from returns the number of permits in the grants from a rank on. If each grant has one permit, it only counts.
-- Otherwise it reads the shorter part of the grants: there may be as many grants as permits.
local function sum_from(grants, held, number, rank)
  if held == number then
    return number - rank
  elseif 2 * rank > number then
    return sum(grants, rank, number - 1)
  end
  return held - sum(grants, 0, rank - 1)
end

-- walk returns how many grants, from a rank on, have at least the missing permits, and the number of their permits.
-- It stops at the rank past.
local function walk(grants, held, number, rank, past, missing)
  if held == number then
    local walked = math.max(0, math.min(missing, past - rank))
    return walked, walked
  end
  local at, permits, size = rank, 0, 8
  while permits < missing and at < past do
    size = math.min(size * 2, 1000)
    for _, grant in ipairs(redis.call('zrange', grants, at, math.min(past, at + size) - 1)) do
      if permits < missing then
        at, permits = at + 1, permits + permits_of(grant)
      end
    end
  end
  return at - rank, permits
end

-- ended returns how many of the oldest grants have at least the missing permits, and the number of their permits. It
-- takes no grant that is younger than youngest. If there are more than a thousand such grants, it may return more
-- than needed.
local function ended(grants, held, number, youngest, missing)
  if missing <= 0 then
    return 0, 0
  end
  local old = redis.call('zcount', grants, '-inf', youngest)
  if old > 1000 and missing >= old then
    return old, held - sum_from(grants, held, number, old)
  end
  return walk(grants, held, number, 0, old, missing)
end

-- settle replaces grants with times in the future by one grant of now: they were made before the server's clock was
-- set back.
local function settle(limit, value, grants, now)
  local last, at = grant_at(grants, -1)
  if not last or at <= now then
    return
  end
  for _, command in ipairs({'zadd', 'zremrangebyscore', 'zcard', 'zcount'}) do
    may(command, grants)
  end
  may('get', value)
  local held, number = held_of(limit, value, grants)
  local past = redis.call('zcount', grants, '-inf', now)
  local permits = math.max(number - past, sum_from(grants, held, number, past))
  redis.call('zadd', grants, now, packed(last, permits))
  redis.call('zremrangebyscore', grants, string.format('(%.0f', now), '+inf')
end

-- ask raises an error if the user lacks a permission that the storing of grants needs.
local function ask(limiter, value, grants)
  may('pexpire', limiter)
  may('pttl', limiter)
  may('set', value)
  may('zadd', grants)
  may('zremrangebyrank', grants)
end

-- life_of returns how long the keys of the grants exist after a use, or a number below 1 if they do not expire. A
-- client's own keys expire when its last grant is old, so the keys of former clients do not stay, but not within
-- an hour, since another client may make the interval longer.
local function life_of(limiter, limit)
  if limit.own then
    return math.max(limit.interval, 3600000) + 2
  elseif limit.alive > 0 then
    return limit.alive
  end
  return redis.call('pttl', limiter)
end

-- keep stores the number of permits in the grants; nil: there are no grants, and no value. It sets the expiry of a
-- limiter that is not used, and of the keys of its grants.
local function keep(limiter, value, grants, limit, held)
  if limit.alive > 0 then
    redis.call('pexpire', limiter, limit.alive)
  end
  local life = life_of(limiter, limit)
  if life > 0 then
    redis.call('pexpire', grants, life)
  end
  if held and life > 0 then
    redis.call('set', value, text_of(limit, held), 'px', life)
  elseif held then
    redis.call('set', value, text_of(limit, held))
  end
end
