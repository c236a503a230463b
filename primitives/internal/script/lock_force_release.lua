--- Frees the lock no matter who holds it, and wakes one waiter per client.
---
---@key lock hash           owner -> hold count
---@command publish publish|spublish
---@channel released
---@return bool released    false: the lock was free
if redis.call('hlen', lock) == 0 then
  return 0
end
redis.call(publish, released, '0')
redis.call('del', lock)
return 1
