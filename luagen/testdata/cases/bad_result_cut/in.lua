---@key scores zset
---@arg member string
---@arg weight float
---@return float score
local score = redis.call('zscore', scores, member)
if not score then return 0.5 end
if score == '1' then return tonumber(score) end
redis.call('zadd', scores, 2, member)
if score == '2' then return weight * 2 end
return score / 2
