--- Adds to the number, and returns the sum.
---
---@key number string
---@arg delta int
---@return int sum
return redis.call('incrby', number, delta)
