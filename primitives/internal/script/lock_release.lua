--- Frees the lock if owner holds it, and wakes one waiter per client. It publishes first: that is
--- what may be refused, and nothing has been written then.
---
---@key lock hash           owner -> hold count
---@arg owner string
---@command publish publish|spublish
---@channel released
---@return int released     0: owner does not hold the lock; else 1, and 1 for each client that the message was sent to; in a cluster by PUBLISH for those of one node
if redis.call('hexists', lock, owner) == 0 then
  return 0
end
local listeners = redis.call(publish, released, '0')
redis.call('del', lock)
return 1 + listeners
