---@key lock hash
local function count(...) return #arg + select('#', ...) end
return redis.call('hdel', lock, count(1, 2))
