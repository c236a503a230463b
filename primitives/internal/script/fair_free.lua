--- Frees a fair lock, or leaves its queue.
---
---@library
---@include fair_queue.lua
---@include freed.lua

-- pass_on wakes the first waiter that has not expired, and removes expired waiters before it. With holds it frees the
-- lock. It publishes first, because only that may be refused: then nothing has been written. leavers is as for survey.
local function pass_on(lock, queue, timeouts, deadlines, holds, leavers, wake)
  local first, dead, amount, more = survey(queue, timeouts, deadlines, clock(), false, leavers)
  if #dead > 0 or not holds then
    ask_drop(queue, timeouts, deadlines)
  end
  if more then
    local place = -1
    repeat -- It came last, and passes the others if it has not expired.
      first = redis.call('lrange', queue, place, place)[1]
      place = place - 1
    until not leavers[first]
  end
  if first then
    wake(first)
  end
  if holds then
    redis.call('del', lock)
  end
  drop(queue, timeouts, deadlines, dead, amount)
end

-- free is fair_release for each owner, in turn, and returns the owner that held the lock, or false, and whether only
-- its hold could be freed. All owners leave the queue together, in the end. wake publishes to a waiter. free calls it
-- even if an owner has neither the lock nor a place, since the owner's lease may have expired without a message.
local function free(lock, queue, timeouts, deadlines, owners, wake)
  local holder, leavers, asked, conflict = false, {}, false, false
  local function drop_hold()
    redis.call('del', lock)
  end
  for _, owner in ipairs(owners) do
    local holds = redis.call('hexists', lock, owner) == 1
    if holds then
      holder = owner
    else
      leavers[owner] = 0
    end
    if holds then
      conflict = try(drop_hold, pass_on, lock, queue, timeouts, deadlines, holds, leavers, wake)
    elseif redis.call('hlen', lock) == 0 then
      pass_on(lock, queue, timeouts, deadlines, holds, leavers, wake)
    elseif not asked then
      ask_drop(queue, timeouts, deadlines)
      asked = true
    end
    leavers[owner] = not holds and share() or nil
  end
  leave(queue, timeouts, deadlines, leavers)
  return holder, conflict
end
