---@key scores zset
---@readonly
---@arg member string
---@return float score
return redis.call('zscore', scores, member)
