--- Returns the last token granted.
---
---@key lock hash           owner -> hold count
---@key token string        the last token granted, decimal
---@return int? last        nil: there is none
---@readonly
redis.call('hlen', lock) -- It fails if the key is no lock.
return redis.call('get', token)
