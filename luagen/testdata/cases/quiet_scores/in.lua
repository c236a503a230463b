--- Scores that are reckoned with go to a command, where nothing is cut.
---@key scores zset
---@arg member string
---@arg weight float
---@return float score
local score = redis.call('zscore', scores, member) or '0'
local average = (score + weight) / 2
redis.call('zadd', scores, average, member)
redis.call('zadd', scores, 'gt', score * 1.5, 'best')
redis.call('zincrby', scores, weight / 3, 'sum')
return redis.call('zscore', scores, member)
