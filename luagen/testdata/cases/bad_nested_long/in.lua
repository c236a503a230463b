---@key lock any
return redis.call('rpush', lock, [[ a [[ b ]])
