--- Ends the hold of a mutex, whichever owner has it, and grants the mutex to the first waiter that has not expired.
--- The group of the owner that lost it gets the owner's name as a message.
---
---@key holder string       owner
---@key token string        the last token granted, decimal
---@key queue zset          waiter -> its number
---@key signs hash          waiter -> its last heartbeat
---@arg tokenttl milliseconds?
---@command publish publish|spublish
---@channel granted prefix  followed by the group of the owner that gets, or lost, the mutex
---@return bool released    false: the mutex was free
---@include mutex.lua
local held = redis.call('get', holder)
local function tell(group, message)
  redis.call(publish, granted .. ':' .. group, message)
end
local function may_tell(group)
  may(publish, granted .. ':' .. group)
end
local lost = held and string.match(held, '^(.*):')
if lost then
  tell(lost, held)
end
local _, _, more = pass(holder, token, queue, signs, tokenttl, tell, may_tell)
while more do
  _, _, more = pass(holder, token, queue, signs, tokenttl, tell, may_tell)
end
return held and 1 or 0
