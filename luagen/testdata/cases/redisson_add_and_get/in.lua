--- Adds to a counter and returns the sum, exact over all of int64: the server adds, and the sum
--- goes out as the text that it is.
---@key counter string
---@arg delta int
---@return int sum
redis.call('incrby', counter, delta)
return redis.call('get', counter)
