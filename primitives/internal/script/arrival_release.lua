--- Ends owner's hold or place. If there is room then, or owner was the first waiter, it wakes the first waiter that
--- has not expired, and removes expired waiters before it, even if owner had neither a hold nor a place.
---
---@key semaphore zset      holder -> when its hold ends; waiter -> until when it has its place, negative
---@key queue zset          waiter -> its number
---@arg owner string
---@arg limit int(1..2147483647)
---@command publish publish|spublish
---@channel turn prefix     followed by the woken owner
---@return bool released    false: owner does not hold it, or no longer holds it
---@error SIDEKIND the hold has ended, but another key is of another kind
---@include arrival_free.lua
local function wake(waiter)
  redis.call(publish, turn .. ':' .. waiter, '0')
end
local freed, conflict = free(semaphore, queue, owner, tonumber(limit), wake)
if conflict then
  return side_conflict()
end
return freed
