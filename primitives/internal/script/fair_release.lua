--- Frees the lock if owner holds it, and takes owner out of the queue if it waits. Where the lock is
--- free then, it wakes the first live waiter, even if owner had neither, and drops the dead before it.
---
---@key lock hash             owner -> hold count
---@key queue list            the waiting owners, the next one first
---@key timeouts zset         waiting owner -> when Redisson takes it for dead
---@key deadlines hash        our waiting owner -> when we take it for dead, and its waiter timeout
---@arg owner string
---@command publish publish|spublish
---@channel turn prefix       with the woken owner behind it
---@return bool released      false: owner does not hold the lock
---@include fair_free.lua
local function wake(waiter)
  redis.call(publish, turn .. ':' .. waiter, '0')
end
return free(lock, queue, timeouts, deadlines, owner, wake)
