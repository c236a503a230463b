---@key lock hash
---@allow unused nothing is unused
return redis.call('get', lock) ---@allow index not by index
