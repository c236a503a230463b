--- Returns who holds a mutex.
---
---@key holder string       owner
---@return string? owner    nil: nobody
---@readonly
return redis.call('get', holder)
