---@key lock any
local f = redis.call
(f)('getdel', lock)
