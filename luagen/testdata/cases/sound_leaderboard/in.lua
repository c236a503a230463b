--- Adds points to a player, and returns its rank and score.
---@key board zset
---@arg player string
---@arg points int(-1000000..1000000)
---@return int rank        1 is the best
---@return float score
local score = redis.call('zincrby', board, points, player)
local rank = redis.call('zrevrank', board, player)
return {rank + 1, score}
