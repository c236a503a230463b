--- Adds to the counter, and returns what it held: each sum is the server's own.
---@key counter string
---@arg delta int
---@return int old
local old = redis.call('get', counter)
redis.call('incrby', counter, delta)
return old or 0
