--- Frees a fair lock, or leaves its queue.
---
---@library
---@include fair_queue.lua

-- free is fair_release, and returns 1 if owner held the lock, else 0. It publishes first, because only that may be
-- refused: then nothing has been written. wake publishes to a waiter. free calls it even if owner has neither the
-- lock nor a place, since its lease may have expired without a message.
local function free(lock, queue, timeouts, deadlines, owner, wake)
  local holds = redis.call('hexists', lock, owner) == 1
  if not holds and redis.call('hlen', lock) > 0 then
    ask_drop(queue, timeouts, deadlines)
    leave(queue, timeouts, deadlines, owner)
    return 0
  end
  local first, dead, amount, more = survey(queue, timeouts, deadlines, clock(), false, owner)
  if #dead > 0 or not holds then
    ask_drop(queue, timeouts, deadlines)
  end
  if more then
    first = redis.call('lrange', queue, -1, -1)[1] -- It came last, and passes the others if it has not expired.
  end
  if first then
    wake(first)
  end
  if holds then
    redis.call('del', lock)
  else
    leave(queue, timeouts, deadlines, owner)
  end
  drop(queue, timeouts, deadlines, dead, amount)
  return holds and 1 or 0
end
