--- Ends owner's hold, and wakes one waiter per client. It publishes first, because only that may be refused: then
--- nothing has been written.
---
---@key semaphore zset      holder -> when its hold ends, in milliseconds
---@arg owner string
---@command publish publish|spublish
---@channel released
---@return bool released    false: owner does not hold it, or no longer holds it
---@include clock.lua
local ends = redis.call('zscore', semaphore, owner)
local now = clock()
local held = ends and tonumber(ends) >= now
if held then
  redis.call(publish, released, '1')
end
redis.call('zrem', semaphore, owner)
return held and 1 or 0
