--- The holds of a counting semaphore, in a zset. The score of a holder is the time at which its hold ends, unless it
--- is refreshed. With the order of arrival the zset also has the waiters: a waiter's score is the negated time until
--- which it keeps its place. All times are milliseconds of the server's clock.
---
---@library
---@include clock.lua
---@include rights.lua

-- holders returns the number of holders.
local function holders(semaphore, now)
  return redis.call('zcount', semaphore, now, '+inf')
end

-- room_in returns the milliseconds until the first over + 1 holds have ended: then a waiter may acquire the
-- semaphore, even if no holder releases. over must not be -0, which Lua makes of a negated 0, and which is no offset.
local function room_in(semaphore, now, over)
  return redis.call('zrangebyscore', semaphore, now, '+inf', 'withscores', 'limit', over, 1)[2] - now
end

-- full_for returns how many milliseconds, at least 1, a semaphore stays full after another owner has acquired it for
-- its lease.
local function full_for(semaphore, now, held, lease)
  return held > 0 and math.max(1, math.min(room_in(semaphore, now, 0), lease)) or tonumber(lease)
end

-- last returns the time at which the last hold or place ends, including a new one that ends at the given time.
local function last(semaphore, ends)
  local place = redis.call('zrange', semaphore, 0, 0, 'withscores')
  local hold = redis.call('zrange', semaphore, -1, -1, 'withscores')
  return math.max(ends, -tonumber(place[2] or 0), tonumber(hold[2] or 0))
end

-- ask raises an error if the user lacks a permission that a hold, its refresh or its end needs. It does not check the
-- channel.
local function ask(semaphore)
  may('zadd', semaphore)
  may('zrem', semaphore)
  may('zremrangebyscore', semaphore)
  may('pexpireat', semaphore)
end

-- enter gives owner a score, and removes the holds that have ended. The key lasts until the time that last has
-- returned. The caller must have checked the permissions.
local function enter(semaphore, now, owner, score, until_last)
  redis.call('zremrangebyscore', semaphore, 1, now - 1)
  redis.call('zadd', semaphore, score, owner)
  redis.call('pexpireat', semaphore, until_last) ---@allow refused the user may
end
