--- Ends a hold of a counting semaphore with the order of arrival, or leaves its queue.
---
---@library
---@include counting.lua
---@include arrival.lua
---@include freed.lua

-- pass_on is free for the queue.
local function pass_on(semaphore, queue, now, owner, holds, limit, wake)
  local waits = redis.call('zscore', queue, owner)
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
end

-- free is arrival_release, and returns 1 if owner held the semaphore, else 0, and whether only the hold could be freed.
-- It publishes first, because only that
-- may be refused: then nothing has been written. wake publishes to a waiter. free calls it even if owner has neither
-- a hold nor a place, since owner's hold may have ended without a message. It also calls wake if owner was the first
-- waiter, since only the first waiter learns when there may be room.
local function free(semaphore, queue, owner, limit, wake)
  local now = clock()
  local score = redis.call('zscore', semaphore, owner)
  local holds = score and tonumber(score) >= now
  may('zrem', semaphore)
  if not holds then
    pass_on(semaphore, queue, now, owner, holds, limit, wake)
    return 0, false
  end
  local function drop_hold()
    redis.call('zrem', semaphore, owner)
  end
  return 1, try(drop_hold, pass_on, semaphore, queue, now, owner, holds, limit, wake)
end
