--- Revokes the hold of a mutex: see lock_revoke. Its waiters stay in the queue.
---
---@key holder string       owner
---@arg owner string        the owner to revoke; empty: the one that has the mutex
---@arg lease milliseconds  how long a mutex whose key has no expiry stays held
---@return milliseconds left  how long the mutex stays held at most; 0 ms: it is free, or another owner has it
---@include revoked.lua
local held = redis.call('get', holder)
if not held then
  return 0
end
local left, replace = stays(holder, held, owner, lease)
if replace then
  redis.call('set', holder, nobody(), 'px', left)
end
return left
