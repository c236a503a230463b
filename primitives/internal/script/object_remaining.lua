--- Returns the time until an object expires.
---
---@key object any
---@return milliseconds remaining   -1 ms: it has no expiry; -2 ms: there is none
---@readonly
return redis.call('pttl', object)
