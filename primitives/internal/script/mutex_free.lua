--- Ends a hold of a mutex, or leaves its queue.
---
---@library
---@include mutex.lua

-- free is mutex_release. may_tell asks for the right to the channel of a group.
local function free(holder, token, queue, signs, owner, tokenttl, tell, may_tell)
  local held = redis.call('get', holder)
  if not held then
    ask(holder, queue, signs, nil, may_tell)
    may('incr', token)
    may('zrange', queue)
    may('hmget', signs)
  elseif held ~= owner then
    may('hdel', signs)
  end
  if held ~= owner and redis.call('zrem', queue, owner) == 1 then
    redis.call('hdel', signs, owner)
  end
  if held and held ~= owner then
    return 0, 0
  end
  local _, _, more = pass(holder, token, queue, signs, tokenttl, tell, may_tell)
  return held and 1 or 0, more and 1 or 0
end
