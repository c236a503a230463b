--- The queue of a fair lock. The list has the waiting owners, the next one first. For Java processes a waiter expires
--- when its score has passed. For this package, its own waiters expire when their deadline has passed, and their
--- score does not count. Both are milliseconds of the server's clock. The deadline is in a hash, as "deadline
--- timeout": it is the waiter's last try plus the waiter's timeout.
---
---@library
---@include clock.lua
---@include rights.lua

-- share is the time that each waiter adds to the scores of the waiters behind it: Redisson's default, so Java
-- processes wait as long for waiters of this package as for their own.
local function share()
  return 300000
end

-- ask_drop raises an error if the user lacks a permission that the removal of waiters from the queue needs.
local function ask_drop(queue, timeouts, deadlines)
  may('lrem', queue)
  may('lpos', queue)
  may('zadd', timeouts)
  may('zrem', timeouts)
  may('zrange', timeouts)
  may('zmscore', timeouts)
  may('hdel', deadlines)
  may('hmget', deadlines)
end

-- ask raises an error if the user lacks a permission that a change of the queue needs.
local function ask(queue, timeouts, deadlines)
  ask_drop(queue, timeouts, deadlines)
  may('rpush', queue)
  may('lindex', queue)
  may('lrange', queue)
  may('zscore', timeouts)
end

-- deadline_of returns the deadline in a waiter's field, and whether it is too late: later than now plus the waiter
-- timeout, because the server's clock was set back after the waiter's last try. Then it returns the latest possible
-- deadline. nil: the waiter is a Java process's.
local function deadline_of(field, now)
  local deadline, waiter_timeout = string.match(field or '', '^(%d+) (%d+)$')
  if not deadline then
    return nil, false
  end
  local latest = now + tonumber(waiter_timeout)
  return math.min(tonumber(deadline), latest), tonumber(deadline) > latest
end

-- lower subtracts an amount from all scores. Owners in others have another amount.
local function lower(timeouts, amount, others)
  local scores, changed = redis.call('zrange', timeouts, 0, -1, 'withscores'), {}
  for i = 1, #scores, 2 do
    local less = others[scores[i]] or amount
    if less ~= 0 then
      changed[#changed + 1] = scores[i + 1] - less
      changed[#changed + 1] = scores[i]
    end
    if #changed == 2000 or i + 1 == #scores and #changed > 0 then
      redis.call('zadd', timeouts, unpack(changed))
      changed = {}
    end
  end
end

-- survey returns the first waiter that has not expired, or false; the expired waiters before it, without leavers; the
-- amount by which the scores behind them fall when they are removed; whether it stopped at a thousand expired
-- waiters, so later waiters may not have expired; and the deadline of the first waiter, if it is of this
-- package, and whether that was too late. The caller itself has not expired. leavers has the owners that leave, each
-- with the amount by which the scores behind it are still to fall.
local function survey(queue, timeouts, deadlines, now, caller, leavers)
  local dead, amount, place, size, due = {}, 0, 0, 1, 0
  while #dead < 1000 do
    local waiters = redis.call('lrange', queue, place, place + size - 1)
    if #waiters == 0 then
      return false, dead, amount, false
    end
    local scores = redis.call('zmscore', timeouts, unpack(waiters))
    local ends = redis.call('hmget', deadlines, unpack(waiters))
    for i, waiter in ipairs(waiters) do
      if waiter == caller then
        return waiter, dead, amount, false
      elseif leavers and leavers[waiter] then
        due = due + leavers[waiter]
      else
        local score = scores[i]
        local deadline, late = deadline_of(ends[i], now)
        local left = score and score - due - amount - now or 0
        if deadline and deadline - now > 0 or not deadline and left > 0 then
          return waiter, dead, amount, false, deadline, late
        end
        dead[#dead + 1] = waiter
        -- A part of its share may have passed already.
        amount = amount + math.max(0, math.min(share(), left))
      end
    end
    place, size = place + #waiters, math.min(100, 1000 - #dead)
  end
  return false, dead, amount, true
end

-- remove removes a waiter's first place in the queue, or with the count 0 all its places. The scores of the others
-- stay.
local function remove(queue, timeouts, deadlines, waiter, count)
  redis.call('lrem', queue, count, waiter)
  redis.call('zrem', timeouts, waiter)
  redis.call('hdel', deadlines, waiter)
end

-- drop removes expired waiters from the queue, and lowers the scores of the others by the amount.
local function drop(queue, timeouts, deadlines, dead, amount)
  for _, waiter in ipairs(dead) do
    remove(queue, timeouts, deadlines, waiter, 1)
  end
  if amount > 0 then
    lower(timeouts, amount, {})
  end
end

-- leave removes those of the leavers that are in the queue, and lowers the scores of the waiters behind each of them.
-- Whatever their number, it reads the queue and the scores once.
local function leave(queue, timeouts, deadlines, leavers)
  local last = -1
  for owner in pairs(leavers) do
    last = math.max(last, redis.call('lpos', queue, owner) or -1)
  end
  if last < 0 then
    return
  end
  local amount, amounts = 0, {}
  for _, waiter in ipairs(redis.call('lrange', queue, 0, last)) do
    if leavers[waiter] then
      remove(queue, timeouts, deadlines, waiter, 0)
      amount = amount + share()
    else
      amounts[waiter] = amount
    end
  end
  lower(timeouts, amount, amounts)
end
