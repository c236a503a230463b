--- Reads a bucket.
---@key bucket hash level: int(0..1000), at: unixmilli?, owner: string
---@return bucket? state
---@readonly
return redis.call('hgetall', bucket)
