--- Grants a read lock to owner if there is no writer, or if the caller is the writer; else returns the rest of the
--- writer's lease, or of the waiting writers' places. Owners are used for one hold. The token is the last writer's.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  the beginning of each reader's side key: side:owner:rwlock_timeout:1
---@key token string        the last token granted to a writer, decimal
---@key waiting hash        the places of waiting writers: owner -> 1
---@arg owner string
---@arg writer string       the owner of the caller's write hold; empty: none
---@arg lease milliseconds
---@arg tokenttl milliseconds?  nil: the token key does not expire
---@arg standback bool      owner stands back for a waiting writer
---@command publish publish|spublish
---@channel released
---@arg asks bool         also check the permissions of the release
---@return int? token         nil: a writer holds the lock, or waits
---@return milliseconds wait  the rest of the writer's lease; -1 ms: it has no expiry; 0: granted
---@return bool free         the lock is free, and reserved for a waiting writer
---@include token.lua
---@include alien.lua
local mode = redis.call('hget', lock, 'mode')
local downgrade = mode == 'write' and redis.call('hexists', lock, writer .. ':write') == 1
-- A hash without a mode is a lock of another kind, which excludes readers, too.
local size = mode ~= 'read' and not downgrade and redis.call('hlen', lock) or 0
if size > 0 then
  local strange = alien(lock, size)
  return strange or {false, redis.call('pttl', lock), 0}
end
if standback and not downgrade and redis.call('exists', waiting) == 1 then
  return {false, redis.call('pttl', waiting), mode and 0 or 1}
end
if asks then
  may('hexists', lock)
  may('exists', lock)
  may('hgetall', lock)
  may('hdel', lock)
  may('del', lock)
end
may('set', token)
may('hset', lock)
may('pexpire', lock)
may('pttl', lock)
may(publish, released)
local last = present_token(token, tokenttl)
redis.call('set', side .. ':' .. owner .. ':rwlock_timeout:1', 1, 'px', lease)
local longest = math.max(redis.call('pttl', lock), tonumber(lease))
redis.call('hset', lock, 'mode', mode or 'read', owner, 1)
redis.call('pexpire', lock, longest) ---@allow refused the user may
return {last, 0, 0}
