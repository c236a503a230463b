--- Reports whether owner holds the lock.
---
---@key lock hash           owner -> hold count
---@arg owner string
---@return bool held
---@readonly
return redis.call('hexists', lock, owner)
