--- Returns how many permits are free.
---
---@key permits string                                  free permits
---@return int(-2147483648..2147483647)? free           nil: there is no semaphore
---@readonly
return redis.call('get', permits)
