--- Grants the lock to owner alone, with the next fencing token, if there is no writer and no reader whose lease has
--- not ended. Otherwise it returns the rest of the writer's lease, or of the shortest lease of the readers: after
--- that, the lock may be free without a message. A grant removes readers whose leases have ended. Every owner is used
--- for one hold.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  the beginning of each reader's side key: side:owner:rwlock_timeout:1
---@key token string        the last token granted to a writer, decimal
---@key waiting hash        the places of waiting writers: owner -> 1
---@arg owner string
---@arg lease milliseconds
---@arg tokenttl milliseconds?  nil: the token key does not expire
---@arg prefer bool         readers stand back for writers: a grant removes all places
---@arg queue bool          owner waits: a refusal because of readers gives it a place, until just after its next try
---@command publish publish|spublish
---@channel released
---@arg asks bool         also check the permissions of the release
---@return int? token         nil: the lock is held
---@return milliseconds wait  until the lock may be free if no message comes; -1 ms: the lease has no expiry; 0: granted
---@return bool reading       readers hold the lock, which other readers may join
---@include token.lua
---@include readers.lua
---@include alien.lua
local size = redis.call('hlen', lock)
local used = size > 0
if used then
  local strange = alien(lock, size)
  if strange then
    return strange
  end
  local mode, longest, _, shortest = survey(lock, side)
  -- A hash without a mode is a lock of another kind, which excludes writers, too.
  if mode ~= 'read' then
    return {false, redis.call('pttl', lock), 0}
  elseif longest > 0 then
    if queue then
      may('hexists', lock)
      may('hdel', lock)
      may(publish, released)
      -- By then owner has tried again. Without a place this does nothing: see lock_acquire.lua.
      local life = math.max(redis.call('pttl', waiting), shortest + 200)
      redis.call('pexpire', waiting, life)
      redis.call('hset', waiting, owner, 1)
      redis.call('pexpire', waiting, life)
    end
    return {false, shortest, 1}
  end
end
if asks then
  may('hgetall', lock)
  may('pttl', lock)
  may('hexists', lock)
  may('hdel', lock)
end
may('hset', lock)
may('pexpire', lock)
if asks or used or prefer then
  may('del', lock)
end
may(publish, released)
local grant = next_token(token, tokenttl)
if used then
  redis.call('del', lock)
end
if prefer then
  redis.call('del', waiting)
end
redis.call('hset', lock, 'mode', 'write', owner .. ':write', 1)
redis.call('pexpire', lock, lease) ---@allow refused the user may
return {grant, 0, 0}
