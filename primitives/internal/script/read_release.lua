--- Ends owner's read hold. After the last reader the lock is free, and the script wakes one waiter per client. It
--- does so even if the lock was free before, because the end of a lease sends no message. It removes readers whose
--- leases have ended. While a writer holds the lock, its lease does not change.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  the beginning of each reader's side key: side:owner:rwlock_timeout:1
---@key waiting hash        the places of waiting writers: owner -> 1
---@arg owner string
---@command publish publish|spublish
---@channel released
---@arg standback bool      readers stand back for a waiting writer: after the last reader for 200 ms
---@return bool released    false: owner does not hold it, or no longer holds it
---@include readers.lua
---@include readers_keep.lua
if redis.call('hexists', lock, owner) == 0 then
  if redis.call('exists', lock) == 0 then
    redis.call(publish, released, '0')
  end
  return 0
end
ask(lock)
local hold = side .. ':' .. owner .. ':rwlock_timeout:1'
local held = redis.call('exists', hold)
local mode, longest, gone = survey(lock, side, owner)
if mode == 'read' and longest == 0 then
  redis.call(publish, released, '0')
  redis.call('del', lock, hold)
  if standback then
    redis.call('pexpire', waiting, 200)
  end
  return held
end
redis.call('del', hold)
keep(lock, gone, mode == 'read' and longest or 0)
return held
