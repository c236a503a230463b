--- Returns what remains of the holder's lease.
---
---@key lock hash           owner -> hold count
---@return milliseconds remaining   -1 ms: no end; -2 ms: the lock is free
---@readonly
return redis.call('pttl', lock)
