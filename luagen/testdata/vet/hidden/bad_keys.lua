---@key lock string
redis.call('keys', lock)
