--- Reads a board, or takes the least from it.
---@key board zset
---@arg take bool
---@return scores top
if take then
  return redis.call('zpopmin', board, 1)
end
return redis.call('zrange', board, 0, -1, 'WITHSCORES')
