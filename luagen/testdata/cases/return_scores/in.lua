--- Reads a board.
---@key board zset
---@return scores top  the best
---@return scores? none
---@return scores[] all
---@readonly
local top = redis.call('zrevrange', board, 0, 2, 'withscores')
return {top, false, {top, redis.call('zrange', board, 0, -1, 'WITHSCORES'), {'x', 1}}}
