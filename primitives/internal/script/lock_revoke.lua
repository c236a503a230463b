--- Revokes the hold of a lock: puts an owner that no client has in the place of its owner, and keeps the lock's expiry.
--- So the owner can neither renew nor release the lock, and no other owner can acquire it before the lease has ended on
--- which the owner counts. The hold of a lock that was revoked before stays as it is. The script publishes nothing:
--- the lock is not free.
---
---@key lock hash           owner -> hold count
---@arg owner string        the owner to revoke; empty: the one that holds the lock
---@arg lease milliseconds  how long a lock without an expiry stays held
---@return milliseconds left  how long the lock stays held at most; 0 ms: it is free, or another owner holds it
---@include revoked.lua
---@include rights.lua
---@include alien.lua
local size = redis.call('hlen', lock)
if size == 0 then
  return 0
end
local strange = alien(lock, size)
if strange or size > 1 then
  return strange or redis.error_reply('OTHERKIND the key holds a read-write lock')
end
local left, replace = stays(lock, redis.call('hgetall', lock)[1], owner, lease)
if replace then
  may('del', lock)
  may('hset', lock)
  may('pexpire', lock)
  redis.call('del', lock)
  redis.call('hset', lock, nobody(), 1)
  redis.call('pexpire', lock, left) ---@allow refused the user may
end
return left
