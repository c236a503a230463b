--- Reports whether anybody holds the lock.
---
---@key lock hash           owner -> hold count
---@return bool held
---@readonly
return redis.call('exists', lock)
