---@key lock hash
local f = redis.call
(f)('get', lock)
