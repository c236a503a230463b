--- Revokes the hold of a mutex: see lock_revoke. Its waiters stay in the queue.
---
---@key holder string       owner
---@arg owner string        the owner to revoke; empty: the one that has the mutex
---@arg lease milliseconds  how long a mutex whose key has no expiry stays held
---@return milliseconds left  how long the mutex stays held at most; 0 ms: it is free, or another owner has it
---@include nobody.lua
local held = redis.call('get', holder)
if not held or owner ~= '' and held ~= owner and held ~= nobody() then
  return 0
end
local left = redis.call('pttl', holder)
if held == nobody() and left >= 0 then
  return math.max(1, left)
end
if left < 0 then
  left = lease
end
left = math.max(1, left)
redis.call('set', holder, nobody(), 'px', left)
return left
