--- Ends owner's hold, or removes owner from the queue. If the mutex has no holder then, it grants the mutex to the
--- first waiter that has not expired. It does so even if owner had neither a hold nor a place.
---
---@key holder string       owner
---@key token string        the last token granted, decimal
---@key queue zset          waiter -> its number
---@key signs hash          waiter -> its last heartbeat
---@arg owner string
---@arg tokenttl milliseconds?
---@command publish publish|spublish
---@channel granted prefix  followed by the group of the owner that gets the mutex
---@return int outcome      1: owner held it; 0: not. 2 more: there is no holder yet, although there may be waiters that have not expired, and the release must be repeated
---@error SIDEKIND the hold has ended, but another key is of another kind
---@include mutex_free.lua
if redis.call('exists', queue) == 0 and redis.call('get', holder) == owner then -- The usual case.
  redis.call('del', holder)
  return 1
end
local function tell(group, message)
  redis.call(publish, granted .. ':' .. group, message)
end
local function may_tell(group)
  may(publish, granted .. ':' .. group)
end
local released, more, conflict = free(holder, token, queue, signs, owner, tokenttl, tell, may_tell)
if conflict then
  return side_conflict()
end
return released + 2 * more
