--- Returns the rest of the holder's lease.
---
---@key lock string         owner
---@return milliseconds remaining   -1 ms: no expiry; -2 ms: the lock is free
---@readonly
if not redis.call('get', lock) then
  return -2
end
return redis.call('pttl', lock)
