---@key lock hash
return redis.call('getdel', lock)
