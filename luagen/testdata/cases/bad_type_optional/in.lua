---@key user hash
---@arg limits int?...
---@return bool?[] flags
---@return int[]? all
return redis.call('hset', user, unpack(limits))
