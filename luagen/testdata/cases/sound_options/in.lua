--- Counts by calls whose reply says something because of one option.
---@key board zset
---@key last string
---@arg player string
---@return int answers
redis.call('zadd', board, 1, player)
local n = 0
if redis.call('zadd', board, 'XX', 'INCR', 1, player) then
  n = n + 1
end
if redis.call('zadd', board, 'XX', 'CH', 7, player) == 1 then
  n = n + 1
end
if redis.call('zadd', board, 'NX', 1, 'first') == 1 then
  n = n + 1
end
if redis.call('set', last, player, 'NX') then
  n = n + 1
end
if redis.call('set', last, player, 'XX') then
  n = n + 1
end
if redis.call('set', last, player, 'GET') == player then
  n = n + 1
end
return n
