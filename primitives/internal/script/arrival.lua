--- The queue of a counting semaphore with the order of arrival: a zset of those who wait, by the number
--- that each took when it came. Who waits has a score in the semaphore, too, by which others see whether it is
--- dead. One without, as after the semaphore was deleted, is taken for alive.
---
---@library

-- survey returns the first who waits and lives, or false, and those before it, who are dead, but for leaver.
-- A caller that waits itself is alive.
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

-- drop takes the dead out of the queue.
local function drop(semaphore, queue, dead)
  for _, waiter in ipairs(dead) do
    redis.call('zrem', queue, waiter)
    redis.call('zrem', semaphore, waiter)
  end
end
