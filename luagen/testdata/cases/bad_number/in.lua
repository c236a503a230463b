---@key lock any
return redis.call('rpush', lock, 0x)
