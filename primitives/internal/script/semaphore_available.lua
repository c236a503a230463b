--- Tells how many permits are free.
---
---@key permits string                                  free permits
---@return int? free                                    nil: there is no semaphore
---@readonly
return redis.call('get', permits)
