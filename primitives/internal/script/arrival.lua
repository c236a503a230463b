--- The queue of a counting semaphore with the order of arrival: a zset of the waiters, by the number that each waiter
--- got when it came. A waiter also has a score in the semaphore, which says until when it keeps its place. If a
--- waiter has no score, for example because the semaphore was deleted, it keeps its place.
---
---@library

-- survey returns the first waiter that has not expired, or false, and the expired waiters before it, without leaver.
-- The caller itself has not expired.
local function survey(semaphore, queue, now, caller, leaver)
  local dead, place = {}, 0
  local waiter = redis.call('zrange', queue, 0, 0)[1]
  while waiter do
    if waiter == caller then
      return waiter, dead
    elseif waiter ~= leaver then
      local score = redis.call('zscore', semaphore, waiter)
      if not score or tonumber(score) <= -now then
        return waiter, dead
      end
      dead[#dead + 1] = waiter
    end
    place = place + 1
    waiter = redis.call('zrange', queue, place, place)[1]
  end
  return false, dead
end

-- drop removes expired waiters from the queue.
local function drop(semaphore, queue, dead)
  for _, waiter in ipairs(dead) do
    redis.call('zrem', queue, waiter)
    redis.call('zrem', semaphore, waiter)
  end
end
