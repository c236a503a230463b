---@key lock hash
return redis.call('get', lock, 0x)
