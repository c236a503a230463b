---@key board zset
---@arg add scores
---@return scores top
---@readonly
if redis.call('zcard', board) == 0 then
  return false
end
return redis.call('zscore', board, 'x')
