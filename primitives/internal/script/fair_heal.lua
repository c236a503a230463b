--- Repairs the queue of a fair lock.
---
---@library
---@include fair_queue.lua

-- strip removes from a zset who is not in the queue.
local function strip(scores, listed)
  for _, waiter in ipairs(redis.call('zrange', scores, 0, -1)) do
    if not listed[waiter] then
      redis.call('zrem', scores, waiter)
    end
  end
end

-- heal makes the list and the zsets agree, if their lengths do not. A waiter that is listed twice has
-- its first place. One without a score gets one if it has a deadline or is the caller; otherwise
-- nobody knows whether it lives, and it leaves.
local function heal(queue, timeouts, deadlines, now, caller)
  local length = redis.call('llen', queue)
  local scores, ours = redis.call('zcard', timeouts), redis.call('zcard', deadlines)
  if length == scores and length >= ours then
    return
  end
  ask(queue, timeouts)
  local listed, kept = {}, {}
  for _, waiter in ipairs(redis.call('lrange', queue, 0, -1)) do
    local scored = redis.call('zscore', timeouts, waiter)
    if listed[waiter] then
      redis.call('lrem', queue, -1, waiter)
    elseif scored or waiter == caller or redis.call('zscore', deadlines, waiter) then
      listed[waiter] = true
      kept[#kept + 1] = waiter
      if not scored then
        redis.call('zadd', timeouts, now + #kept * share(), waiter)
      end
    else
      redis.call('lrem', queue, 0, waiter)
    end
  end
  strip(timeouts, listed)
  strip(deadlines, listed)
end
