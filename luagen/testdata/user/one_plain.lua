--- Is one command.
---@key counter string
---@arg delta int
---@return int value
return redis.call('incrby', counter, delta)
