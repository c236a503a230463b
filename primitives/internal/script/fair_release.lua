--- Frees the lock if owner holds it, or ends its place. If the lock is free then, it wakes the first waiter that has
--- not expired, and removes expired waiters before it, even if owner had neither the lock nor a place.
---
---@key lock hash             owner -> hold count
---@key queue list            the waiting owners, the next one first
---@key timeouts zset         waiting owner -> when it expires for Redisson
---@key deadlines hash        our waiting owner -> when it expires, and its waiter timeout
---@arg owner string
---@command publish publish|spublish
---@channel turn prefix       followed by the woken owner
---@return bool released      false: owner does not hold the lock
---@error SIDEKIND the hold has ended, but another key is of another kind
---@include fair_free.lua
if redis.call('exists', queue) == 0 and redis.call('hexists', lock, owner) == 1 then -- The usual case.
  redis.call('del', lock)
  return 1
end
local function wake(waiter)
  redis.call(publish, turn .. ':' .. waiter, '0')
end
local holder, conflict = free(lock, queue, timeouts, deadlines, {owner}, wake)
if conflict then
  return side_conflict()
end
return holder and 1 or 0
