--- Stores the result of the run that holds the lock of a memo's key, or that it is not kept, and wakes all waiters. If the
--- run ends by that, it also frees the lock. An owner whose result is stored may repeat it.
---
---@key lock hash         owner -> hold count
---@key holder string     the description of the holder, with its fingerprint
---@key record hash       owner, fingerprint, and the result if it is kept
---@arg owner string
---@arg fingerprint string
---@arg kept bool         whether to keep the result
---@arg result string
---@arg keep milliseconds  how long, from now on
---@arg ends bool         whether the run ends
---@command publish publish|spublish
---@channel released
---@return bool stored     false: owner does not hold the lock, and has stored nothing
---@return string? other   then: what another run has stored for the same fingerprint
---@retry safe
---@include rights.lua
if redis.call('hexists', lock, owner) == 0 then
  local found = redis.call('hmget', record, 'owner', 'fingerprint', 'result')
  if found[1] == owner then
    return {1, false}
  end
  return {0, found[2] == fingerprint and found[3]}
end
may('pexpire', record)
may('del', lock)
may(publish, released)
redis.call('hset', record, 'owner', owner, 'fingerprint', fingerprint)
if kept then
  redis.call('hset', record, 'result', result)
end
redis.call('pexpire', record, keep) ---@allow refused the user may
redis.call(publish, released, '1')
if ends then
  redis.call('del', lock)
  redis.call('del', holder)
end
return {1, false}
