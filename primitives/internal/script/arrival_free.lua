--- Ends a hold of a counting semaphore with the order of arrival, or leaves its queue.
---
---@library
---@include counting.lua
---@include arrival.lua

-- free does what arrival_release does, and returns 1 if owner held the semaphore, else 0. It publishes first:
-- that is what may be refused, and nothing has been written then. wake publishes to a waiter: also if owner
-- has neither a hold nor a place, since its hold may have ended, of which no message tells; and if owner was the
-- first who waits, since only the first is told when there may be room.
local function free(semaphore, queue, owner, limit, wake)
  local now = clock()
  local score, waits = redis.call('zscore', semaphore, owner), redis.call('zscore', queue, owner)
  local holds = score and tonumber(score) >= now
  may('zrem', semaphore)
  local left = holders(semaphore, now) - (holds and 1 or 0)
  if left < limit or waits and survey(semaphore, queue, now, owner) == owner then
    local first, dead = survey(semaphore, queue, now, false, owner)
    if first then
      wake(first)
    end
    drop(semaphore, queue, dead)
  end
  redis.call('zrem', semaphore, owner)
  if waits then
    redis.call('zrem', queue, owner)
  end
  return holds and 1 or 0
end
