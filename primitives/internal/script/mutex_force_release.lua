--- Ends the hold of a mutex no matter whose it is, and gives the mutex to the first waiter that lives.
---
---@key holder string       owner
---@key token string        the last token granted, decimal
---@key queue zset          waiter -> its number
---@key signs hash          waiter -> its last sign of life
---@arg tokenttl milliseconds?
---@command publish publish|spublish
---@channel granted prefix  with the group of the one who gets the mutex behind it
---@return bool released    false: nobody held it
---@include mutex.lua
local held = redis.call('get', holder)
local function tell(group, message)
  redis.call(publish, granted .. ':' .. group, message)
end
local function may_tell(group)
  may(publish, granted .. ':' .. group)
end
pass(holder, token, queue, signs, tokenttl, tell, may_tell)
return held and 1 or 0
