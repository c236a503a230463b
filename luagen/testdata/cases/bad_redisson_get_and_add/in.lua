--- Adds to the counter, and returns what it held.
---@key counter string
---@arg delta int
---@return int old
local old = redis.call('get', counter) or '0'
redis.call('set', counter, old + delta)
return redis.call('get', counter) - delta
