--- Frees the lock if owner holds it, with the holder's description, and wakes one waiter per client. It publishes
--- first, because only that may be refused: then nothing has been written.
---
---@key lock hash           owner -> hold count
---@key holder string       the description of the holder
---@arg owner string
---@command publish publish|spublish
---@channel released
---@return int released     0: owner does not hold the lock; else 1 plus the number of clients that receive the message; with PUBLISH in a cluster, only the clients of one node
if redis.call('hexists', lock, owner) == 0 then
  return 0
end
local listeners = redis.call(publish, released, '0')
redis.call('del', lock)
redis.call('del', holder)
return 1 + listeners
