--- Keeps each player's best score, and the top most players only.
---@key board zset
---@arg player string
---@arg score float
---@arg most int(1..100000)
---@return bool better
local changed = redis.call('zadd', board, 'gt', 'ch', score, player)
redis.call('zremrangebyrank', board, 0, -most - 1)
return changed
