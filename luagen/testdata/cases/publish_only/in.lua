---@key lock hash
---@channel released
redis.call('del', lock)
redis.call('publish', released, '0')
