--- Is plain_release for a key with braces, or for SPUBLISH.
---
---@key lock string         owner
---@arg owner string
---@command publish publish|spublish
---@channel released
---@return int released     0: owner does not hold the lock; else 1 plus the number of clients that receive the message; with PUBLISH in a cluster, only the clients of one node
if redis.call('get', lock) ~= owner then
  return 0
end
local listeners = redis.pcall(publish, released, '0')
redis.call('del', lock)
return type(listeners) == 'number' and 1 + listeners or 1
