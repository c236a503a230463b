---@key scores zset
---@arg member string
---@return float score
return redis.call('zscore', scores, member)
