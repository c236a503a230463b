---@key z zset
---@return scores x
---@readonly
return redis.call('zrange', z, 0, -1)
