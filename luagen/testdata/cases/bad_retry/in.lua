---@key votes hash
---@arg candidate string
---@retry safe
---@return int total
return redis.call('hincrby', votes, candidate, 1)
