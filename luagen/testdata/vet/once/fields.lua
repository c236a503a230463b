---@key bucket hash level: int, at: unixmilli
---@return bucket(level,at) b
---@readonly
return redis.call('hmget', bucket, 'lvel', 'at')
