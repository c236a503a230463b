--- Frees the lock if owner holds it. It publishes nothing: waiters retry by themselves.
---
---@key lock hash           owner -> hold count
---@arg owner string
---@return bool released    false: owner does not hold the lock
if redis.call('hexists', lock, owner) == 0 then
  return 0
end
return redis.call('del', lock)
