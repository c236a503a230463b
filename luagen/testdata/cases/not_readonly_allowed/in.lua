---@key lock hash
return redis.call('hgetall', lock) ---@allow readonly a write is to come here
