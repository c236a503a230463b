--- Repairs the queue of a fair lock.
---
---@library
---@include fair_queue.lua

-- strip removes the scores and the deadlines of waiters that are not in the queue.
local function strip(timeouts, deadlines, listed)
  for _, waiter in ipairs(redis.call('zrange', timeouts, 0, -1)) do
    if not listed[waiter] then
      redis.call('zrem', timeouts, waiter)
    end
  end
  local fields = redis.call('hgetall', deadlines)
  for i = 1, #fields, 2 do
    if not listed[fields[i]] then
      redis.call('hdel', deadlines, fields[i])
    end
  end
end

-- set_right corrects deadlines that are too late to the latest possible deadline: a waiter that crashed before the
-- server's clock was set back expires one waiter timeout from now, and no other waiter loses its place.
local function set_right(deadlines, now)
  local fields, changed = redis.call('hgetall', deadlines), {}
  for i = 1, #fields, 2 do
    local deadline, late = deadline_of(fields[i + 1], now)
    if late then
      changed[#changed + 1] = fields[i]
      changed[#changed + 1] = deadline .. string.match(fields[i + 1], ' %d+$')
    end
    if #changed == 2000 or i + 1 == #fields and #changed > 0 then
      redis.call('hset', deadlines, unpack(changed))
      changed = {}
    end
  end
end

-- heal makes the list, the scores and the deadlines agree, if their lengths do not. A waiter that is listed twice
-- keeps its first place. A waiter without a score gets a score if it has a deadline or is the caller. Otherwise it
-- may have crashed, and heal removes it.
local function heal(queue, timeouts, deadlines, now, caller)
  local length = redis.call('llen', queue)
  local scores, ours = redis.call('zcard', timeouts), redis.call('hlen', deadlines)
  if length == scores and length >= ours then
    return
  end
  ask(queue, timeouts, deadlines)
  for _, command in ipairs({'hexists', 'hgetall'}) do
    may(command, deadlines)
  end
  local listed, kept = {}, {}
  for _, waiter in ipairs(redis.call('lrange', queue, 0, -1)) do
    local scored = redis.call('zscore', timeouts, waiter)
    if listed[waiter] then
      redis.call('lrem', queue, -1, waiter)
    elseif scored or waiter == caller or redis.call('hexists', deadlines, waiter) == 1 then
      listed[waiter] = true
      kept[#kept + 1] = waiter
      if not scored then
        redis.call('zadd', timeouts, now + #kept * share(), waiter)
      end
    else
      redis.call('lrem', queue, 0, waiter)
    end
  end
  strip(timeouts, deadlines, listed)
end
