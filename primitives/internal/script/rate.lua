--- A rate limiter. Its hash says how many permits an interval has. Each grant is a member of a sorted set
--- whose score is the time of the grant, until it is so old that its permits are free again; it ends with
--- their number, in four bytes. A value says how many permits no grant has, old ones included.
---
---@library
---@include permits.lua

-- all is more permits, grants or milliseconds than there are.
local function all()
  return 9007199254740991
end

-- span returns the milliseconds in text, or nil if it is no such number.
local function span(text)
  local n = tonumber(text)
  if n and n >= 0 and n <= 9223372036854 and n == math.floor(n) then
    return n
  end
  return nil
end

-- limit_of returns what a limiter's hash says, or nil if there is none. If it has other texts than numbers
-- it returns true behind that.
local function limit_of(limiter)
  local fields = redis.call('hmget', limiter, 'rate', 'interval', 'type', 'keepAliveTime')
  if not (fields[1] and fields[2] and fields[3]) then
    return nil, false
  end
  local limit = {
    rate = count(fields[1]), interval = span(fields[2]), own = fields[3] == '1', alive = span(fields[4] or '0'),
  }
  if not (limit.rate and limit.interval and limit.alive) then
    return nil, true
  end
  return limit, false
end

-- clock_bounds returns the server's time in milliseconds, rounded down and up. A grant is made at the later one, and
-- is old by the earlier one: so the grants within one interval never have more permits than it has.
local function clock_bounds()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000 + math.ceil(time[2] / 1000)
end

-- settle makes grants of the future grants of now: they were made before the server's clock was set back.
local function settle(grants, now)
  local last = redis.call('zrange', grants, -1, -1, 'withscores')
  if not last[2] or tonumber(last[2]) <= now then
    return
  end
  last = redis.call('zrange', grants, -1000, -1, 'withscores')
  for i = 1, #last, 2 do
    if tonumber(last[i + 1]) > now then
      redis.call('zadd', grants, now, last[i])
    end
  end
end

-- permits_of returns how many permits a grant has.
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

-- walk walks grants from a rank on, the oldest first, until they have as many permits as are missing: no
-- more than most grants, and none that is younger than the youngest. It returns how many it has walked,
-- their permits, and the last one with its time.
local function walk(grants, rank, missing, youngest, most)
  local walked, sum, last, at = 0, 0, nil, nil
  local more = true
  while more and sum < missing and walked < most do
    local size = math.min(missing - sum, most - walked, 1000)
    local found = redis.call('zrange', grants, rank + walked, rank + walked + size - 1, 'withscores')
    more = #found == 2 * size
    for i = 1, #found, 2 do
      if sum < missing and tonumber(found[i + 1]) <= youngest then
        walked, sum, last, at = walked + 1, sum + permits_of(found[i]), found[i], tonumber(found[i + 1])
      else
        more = false
      end
    end
  end
  return walked, sum, last, at
end

-- free_of returns how many permits no grant has. If a value is missing, or says too much, it counts.
local function free_of(value, grants, rate)
  local free = count(redis.call('get', value) or '')
  if free and free + redis.call('zcard', grants) <= rate then
    return free
  end
  local _, held = walk(grants, 0, all(), all(), all())
  return rate - held
end

-- live has a limiter end that nobody uses, and the keys of its grants with it. Those of one client end
-- when its last grant is old: else those of each client that ever was would stay. It reports whether they end.
local function live(limiter, value, grants, limit)
  if limit.alive > 0 then
    redis.call('pexpire', limiter, limit.alive)
  end
  local ttl = limit.alive
  if limit.own then
    ttl = limit.interval + 2
  elseif ttl == 0 then
    ttl = redis.call('pttl', limiter)
  end
  if ttl > 0 then
    redis.call('pexpire', value, ttl)
    redis.call('pexpire', grants, ttl)
  end
  return ttl > 0
end
