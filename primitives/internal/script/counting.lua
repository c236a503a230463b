--- The holds of a counting semaphore, in a zset. The score of a holder is when its hold ends, unless it
--- refreshes it. With the order of arrival those who wait are in it, too: their score is negative, and
--- without the sign it is until when their place is kept. All are milliseconds of the server's clock.
---
---@library
---@include clock.lua
---@include rights.lua

-- holders returns how many hold the semaphore.
local function holders(semaphore, now)
  return redis.call('zcount', semaphore, now, '+inf')
end

-- room_in returns how many milliseconds the first of the holds still have, one more than over: then one who
-- waits may come in, if nobody releases. over is no -0, which Lua makes of a negated 0: it is no offset.
local function room_in(semaphore, now, over)
  return redis.call('zrangebyscore', semaphore, now, '+inf', 'withscores', 'limit', over, 1)[2] - now
end

-- full_for returns how many milliseconds a semaphore stays full, at least 1, that one more enters for its lease.
local function full_for(semaphore, now, held, lease)
  return held > 0 and math.max(1, math.min(room_in(semaphore, now, 0), lease)) or tonumber(lease)
end

-- last returns when the last hold or place ends, if there is one more that ends then.
local function last(semaphore, ends)
  local place = redis.call('zrange', semaphore, 0, 0, 'withscores')
  local hold = redis.call('zrange', semaphore, -1, -1, 'withscores')
  return math.max(ends, -tonumber(place[2] or 0), tonumber(hold[2] or 0))
end

-- ask raises an error if the user lacks a right that a hold, its refreshing or its end needs, but for the channel.
local function ask(semaphore)
  may('zadd', semaphore)
  may('zrem', semaphore)
  may('zremrangebyscore', semaphore)
  may('pexpireat', semaphore)
end

-- enter gives owner a score, and drops the holds that have ended. The key lasts until the time that last has
-- returned. The user must have been asked for.
local function enter(semaphore, now, owner, score, until_last)
  redis.call('zremrangebyscore', semaphore, 1, now - 1)
  redis.call('zadd', semaphore, score, owner)
  redis.call('pexpireat', semaphore, until_last) ---@allow refused the user may
end

-- micros returns the server's time in microseconds, by which grants are told apart.
local function micros()
  local time = redis.call('time')
  return time[1] .. string.format('%06d', time[2])
end
