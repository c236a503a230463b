--- Reads a bucket.
---@key bucket hash level: int(0..1000), at: unixmilli?, owner_id: string, type: bytes  a bucket
---@return bucket state  as it is
---@readonly
local all = redis.call('hgetall', bucket)
return all
