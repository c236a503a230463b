--- Returns the holder of a mutex.
---
---@key holder string       owner
---@return string? owner    nil: none
---@readonly
return redis.call('get', holder)
