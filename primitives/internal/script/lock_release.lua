--- Frees the lock if owner holds it, and wakes one waiter per client. It publishes first: that is
--- what may be refused, and nothing has been written then.
---
---@key lock hash           owner -> hold count
---@arg owner string
---@command publish publish|spublish
---@channel released
---@return bool released    false: owner does not hold the lock
if redis.call('hexists', lock, owner) == 0 then
  return 0
end
redis.call(publish, released, '0')
redis.call('del', lock)
return 1
