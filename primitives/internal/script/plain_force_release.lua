--- Frees the lock, whichever owner holds it, and wakes one waiter per client. The message 2 says that a holder lost it.
---
---@key lock string         owner
---@command publish publish|spublish
---@channel released
---@return bool released    false: the lock was free
if not redis.call('get', lock) then
  return 0
end
redis.pcall(publish, released, '0')
redis.pcall(publish, released, '2')
return redis.call('del', lock)
