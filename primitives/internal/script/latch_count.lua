--- Returns the count.
---
---@key latch string                        the count
---@return int? count                       nil: the latch is not set
---@readonly
return redis.call('get', latch)
