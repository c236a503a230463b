--- Revokes the hold of a lock: puts an owner that nobody is in the place of its owner, and keeps the lock's expiry. So
--- the owner can neither renew nor release the lock, and no other owner can acquire it before the lease has ended on
--- which the owner counts. The hold of a lock that was revoked before stays as it is. The script publishes nothing:
--- the lock is not free.
---
---@key lock hash           owner -> hold count
---@arg owner string        the owner to revoke; empty: the one that holds the lock
---@arg lease milliseconds  how long a lock without an expiry stays held
---@return milliseconds left  how long the lock stays held at most; 0 ms: it is free, or another owner holds it
---@include nobody.lua
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
local held = redis.call('hgetall', lock)[1]
if owner ~= '' and held ~= owner and held ~= nobody() then
  return 0
end
local left = redis.call('pttl', lock)
if held == nobody() and left >= 0 then
  return math.max(1, left)
end
if left < 0 then
  left = lease
end
may('del', lock)
may('hset', lock)
may('pexpire', lock)
left = math.max(1, left)
redis.call('del', lock)
redis.call('hset', lock, nobody(), 1)
redis.call('pexpire', lock, left) ---@allow refused the user may
return left
