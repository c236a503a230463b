---@key lock hash
local function count(...) return #arg + select('#', ...) end
return redis.call('hget', lock, count(1, 2))
