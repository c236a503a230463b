---@key scores zset
---@arg weight float
---@return int a
---@return string b
---@return int[] c
redis.call('zadd', scores, 2, 'x')
return {tonumber(weight) + 1, 1.5, {1, 0.25}}
