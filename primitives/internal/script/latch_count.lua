--- Returns how often is still to be counted down.
---
---@key latch string                        the count
---@return int? count                       nil: the latch is not set
---@readonly
return redis.call('get', latch)
