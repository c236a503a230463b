---@key bucket hash level: int(0..1000), at: unixmilli?, rate: float
---@arg create bool
---@return bucket(rate,level)? state
if create then
  redis.call('hset', bucket, 'level', 0, 'rate', '0.5')
  return {'0.5', 0}
end
return redis.call('hmget', bucket, 'rate', 'level')
