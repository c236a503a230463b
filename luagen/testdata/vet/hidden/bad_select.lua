---@key lock string
redis.call('select', 1)
redis.call('get', lock)
