--- Ends owner's hold, or takes it out of the queue. If nobody holds the mutex then, the first waiter that lives
--- gets it, also if owner had nothing.
---
---@key holder string       owner
---@key token string        the last token granted, decimal
---@key queue zset          waiter -> its number
---@key signs hash          waiter -> its last sign of life
---@arg owner string
---@arg tokenttl milliseconds?
---@command publish publish|spublish
---@channel granted prefix  with the group of the one who gets the mutex behind it
---@return int outcome      1: owner held it; 0: not. 2 more: nobody has it yet, though waiters may live, and the release is to be repeated
---@include mutex_free.lua
local function tell(group, message)
  redis.call(publish, granted .. ':' .. group, message)
end
local function may_tell(group)
  may(publish, granted .. ':' .. group)
end
local released, more = free(holder, token, queue, signs, owner, tokenttl, tell, may_tell)
return released + 2 * more
