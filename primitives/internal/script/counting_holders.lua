--- Returns the number of holders of a counting semaphore.
---
---@key semaphore zset      holder -> when its hold ends, in milliseconds
---@return int holders
---@retry safe
---@include counting.lua
return holders(semaphore, clock())
