--- In RESP3 replies have other shapes.
---@key k hash
---@key scores zset
---@arg member string
---@return bool found
redis.setresp(3)
if redis.call('hget', k, member) == nil or redis.call('zscore', scores, member) == 1 then
  return false
end
redis.call('hset', k, member, 1)
return true
