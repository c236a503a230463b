--- Fields that are not written out are not looked at, and what is no type is a description.
---@key bucket hash level: int, at: unixmilli
---@key owners hash owner: the owner's holds
---@key modes hash  mode: read or write, owner: count
---@key names string prefix name: string
---@arg name string
---@return int n
redis.call('hset', bucket, name, 1, 'at', 'anything', 'level', 'other')
redis.call('hset', owners, 'other', 1)
redis.call('hset', modes, 'x', 1)
redis.call('set', names .. '1', 'y')
return redis.call('hexists', bucket, 'level')
