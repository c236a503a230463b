--- Returns the players around one.
---@key board zset
---@arg player string
---@arg near int(0..100)
---@return string[] players
---@readonly
local rank = redis.call('zrevrank', board, player)
if not rank then
  return {}
end
return redis.call('zrevrange', board, math.max(0, rank - near), rank + near)
