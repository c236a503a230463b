--- Ends a hold of a mutex, or leaves its queue.
---
---@library
---@include mutex.lua

-- free does what mutex_release does.
local function free(holder, token, queue, signs, owner, tokenttl, tell)
  local held = redis.call('get', holder)
  if held ~= owner and redis.call('zrem', queue, owner) == 1 then
    redis.call('hdel', signs, owner)
  end
  if held and held ~= owner then
    return 0, 0
  end
  local _, _, more = pass(holder, token, queue, signs, tokenttl, tell)
  return held and 1 or 0, more and 1 or 0
end
