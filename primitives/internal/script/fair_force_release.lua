--- Frees the lock no matter who holds it, and wakes the first live waiter.
---
---@key lock hash             owner -> hold count
---@key queue list            the waiting owners, the next one first
---@key timeouts zset         waiting owner -> when Redisson takes it for dead
---@key deadlines hash        our waiting owner -> when we take it for dead, and its waiter timeout
---@command publish publish|spublish
---@channel turn prefix       with the woken owner behind it
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
  first = redis.call('lrange', queue, -1, -1)[1] -- It came last, and passes the others if it lives.
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
