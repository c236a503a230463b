---@key lock hash
---@retry never
redis.call('del', lock)
