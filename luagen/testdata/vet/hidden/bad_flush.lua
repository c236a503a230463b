---@key lock string
redis.call('flushdb')
redis.call('get', lock)
