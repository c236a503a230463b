--- Adds to the counter of the owner, and publishes that.
---@key counts hash
---@arg owner string
---@arg delta int
---@channel added
---@return int sum
local sum = redis.call('hincrby', counts, owner, delta)
redis.call('publish', added, '1')
return sum
