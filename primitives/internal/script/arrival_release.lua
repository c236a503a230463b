--- Ends owner's hold, or takes it out of the queue. Where there is room then, or owner was the first, it wakes the
--- first who waits and lives, even if owner had neither, and drops the dead before it.
---
---@key semaphore zset      holder -> when its hold ends; waiter -> until when it has its place, negative
---@key queue zset          waiter -> its number
---@arg owner string
---@arg limit int(1..2147483647)
---@command publish publish|spublish
---@channel turn prefix     with the woken owner behind it
---@return bool released    false: owner does not hold it, or not any more
---@include arrival_free.lua
local function wake(waiter)
  redis.call(publish, turn .. ':' .. waiter, '0')
end
return free(semaphore, queue, owner, tonumber(limit), wake)
