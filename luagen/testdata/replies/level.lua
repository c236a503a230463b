--- Reads two fields of a bucket.
---@key bucket hash level: int(0..1000), at: unixmilli?
---@return bucket(at,level)? state
---@readonly
return redis.call('hmget', bucket, 'at', 'level')
