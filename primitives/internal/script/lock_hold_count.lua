--- Returns how often owner holds the lock.
---
---@key lock hash           owner -> hold count
---@arg owner string
---@return int? count       nil: owner does not hold it
---@readonly
return redis.call('hget', lock, owner)
