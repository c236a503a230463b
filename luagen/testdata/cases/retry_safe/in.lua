---@key lock hash
---@retry safe
redis.call('del', lock)
