--- The queue of a counting semaphore with the order of arrival: a zset of the waiters, by the number that each waiter
--- got when it came. A waiter also has a score in the semaphore, which says until when it keeps its place. If a
--- waiter has no score, for example because the semaphore was deleted, it keeps its place. The fraction of a number is
--- the logarithm of the waiter timeout. A number of an earlier version has none.
---
---@library

-- numbered returns a whole number with the fraction for a waiter timeout, which it rounds up by less than a hundredth.
local function numbered(number, waiter_timeout)
  return number + math.min(4095, math.ceil(100 * math.log(waiter_timeout) / math.log(2))) / 4096
end

-- latest returns until when a waiter with that number keeps its place at most: for its waiter timeout, or for the 30 s
-- that a waiter without a score gets. Without a fraction it returns infinity.
local function latest(number, now)
  local fraction = tonumber(number) % 1
  return fraction > 0 and now + math.max(30000, math.ceil(2 ^ (fraction * 40.96))) or math.huge
end

-- survey returns the first waiter that has not expired, or false; the expired waiters before it, without leaver; and
-- whether the first waiter keeps its place for longer than its waiter timeout, because the server's clock was set back
-- after its last try. The caller itself has not expired.
local function survey(semaphore, queue, now, caller, leaver)
  local dead, place = {}, 0
  local found = redis.call('zrange', queue, 0, 0, 'withscores')
  while found[1] do
    local waiter = found[1]
    if waiter == caller then
      return waiter, dead, false
    elseif waiter ~= leaver then
      local score = redis.call('zscore', semaphore, waiter)
      if not score or tonumber(score) <= -now then
        return waiter, dead, score and -score > latest(found[2], now)
      end
      dead[#dead + 1] = waiter
    end
    place = place + 1
    found = redis.call('zrange', queue, place, place, 'withscores')
  end
  return false, dead, false
end

-- corrected returns scores and waiters, in turn: of each waiter that keeps its place for longer than its waiter
-- timeout, with the score for that timeout.
local function corrected(semaphore, queue, now)
  local scores, found = {}, redis.call('zrangebyscore', semaphore, '-inf', -now, 'withscores')
  for i = 1, #found, 2 do
    scores[found[i]] = found[i + 1]
  end
  local changed = {}
  found = redis.call('zrange', queue, 0, -1, 'withscores')
  for i = 1, #found, 2 do
    local score, by = scores[found[i]], latest(found[i + 1], now)
    if score and -score > by then
      changed[#changed + 1] = -by
      changed[#changed + 1] = found[i]
    end
  end
  return changed
end

-- set_right stores what corrected has returned. No waiter loses its place by that.
local function set_right(semaphore, changed)
  for i = 1, #changed, 2000 do
    redis.call('zadd', semaphore, unpack(changed, i, math.min(i + 1999, #changed)))
  end
end

-- drop removes expired waiters from the queue.
local function drop(semaphore, queue, dead)
  for _, waiter in ipairs(dead) do
    redis.call('zrem', queue, waiter)
    redis.call('zrem', semaphore, waiter)
  end
end
