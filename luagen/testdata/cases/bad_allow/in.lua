---@key lock any
---@allow unused nothing is unused
return redis.call('getdel', lock) ---@allow index not by index
