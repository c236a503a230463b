---@key bucket hash level: int(0..1000), at: unixmilli?
---@return bucket? state
---@readonly
return redis.call('hgetall', bucket)
