--- Ends a hold of a mutex, or leaves its queue.
---
---@library
---@include mutex.lua
---@include freed.lua

-- free is mutex_release: it returns whether owner held the mutex, whether there may be more waiters, as 1 or 0, and
-- whether only the hold could be freed. may_tell checks the permission for the channel of a group.
local function free(holder, token, queue, signs, owner, tokenttl, tell, may_tell)
  local held = redis.call('get', holder)
  if not held then
    ask(holder, queue, signs, nil, may_tell)
    ask_token(token)
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
  local function drop_hold()
    redis.call('del', holder)
  end
  if not held then
    local _, _, more = pass(holder, token, queue, signs, tokenttl, tell, may_tell)
    return 0, more and 1 or 0, false
  end
  local conflict, _, _, more = try(drop_hold, pass, holder, token, queue, signs, tokenttl, tell, may_tell)
  return 1, more and 1 or 0, conflict
end
