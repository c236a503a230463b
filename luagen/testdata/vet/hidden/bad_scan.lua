---@key lock string
redis.call('scan', 0, 'match', lock)
