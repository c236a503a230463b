--- Returns the number of holders of a counting semaphore.
---
---@key semaphore zset      holder -> when its hold ends, in milliseconds
---@return int holders
---@readonly
---@include clock.lua
return redis.call('zcount', semaphore, clock(), '+inf')
