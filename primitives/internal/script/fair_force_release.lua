--- Frees the lock, whichever owner holds it, and wakes the first waiter that has not expired.
---
---@key lock hash             owner -> hold count
---@key queue list            the waiting owners, the next one first
---@key timeouts zset         waiting owner -> when it expires for Redisson
---@key deadlines hash        our waiting owner -> when it expires, and its waiter timeout
---@command publish publish|spublish
---@channel turn prefix       followed by the woken owner
---@return bool released      false: the lock was free
---@include fair_queue.lua
---@include alien.lua
local size = redis.call('hlen', lock)
if size == 0 then
  return 0
end
local strange = alien(lock, size)
if strange then
  return strange
end
local first, dead, amount, more = survey(queue, timeouts, deadlines, clock())
if more then
  first = redis.call('lrange', queue, -1, -1)[1] -- It came last, and passes the others if it has not expired.
end
if first then
  redis.call(publish, turn .. ':' .. first, '0')
end
if #dead > 0 then
  ask_drop(queue, timeouts, deadlines)
end
redis.call('del', lock)
drop(queue, timeouts, deadlines, dead, amount)
return 1
