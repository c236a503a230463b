--- Revokes the hold of a writer, and those of its own readers, whose leases end before the lock's expiry, too: see
--- lock_revoke.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@arg owner string        the owner to revoke; empty: any writer
---@arg lease milliseconds  how long a lock without an expiry stays held
---@return milliseconds left  how long the lock stays held at most; 0 ms: there is no writer, or another
---@include revoked.lua
---@include rights.lua
---@include alien.lua
if redis.call('hget', lock, 'mode') ~= 'write' then
  local size = redis.call('hlen', lock)
  return size > 0 and alien(lock, size) or 0
end
local held = redis.call('hexists', lock, nobody() .. ':write') == 1 and nobody()
  or redis.call('hexists', lock, owner .. ':write') == 1 and owner
local left, replace = stays(lock, held, owner, lease)
if replace then
  may('del', lock)
  may('hset', lock)
  may('pexpire', lock)
  redis.call('del', lock)
  redis.call('hset', lock, 'mode', 'write', nobody() .. ':write', 1)
  redis.call('pexpire', lock, left) ---@allow refused the user may
end
return left
