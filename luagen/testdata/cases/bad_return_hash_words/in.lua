---@key bucket hash level: int
---@return bucket state
---@readonly
if redis.call('exists', bucket) == 0 then
  return redis.call('hmget', unpack({bucket, 'level'}))
end
return redis.call('hgetall')
