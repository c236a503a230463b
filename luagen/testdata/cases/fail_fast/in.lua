---@key lock hash
---@failfast
redis.call('del', lock)
