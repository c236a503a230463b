--- Valkey lets scripts call WAITAOF.
---@key lock hash
---@since valkey 8.0
redis.call('del', lock)
return redis.call('waitaof', 0, 1, 10)
