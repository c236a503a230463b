---@key lock string
local function add(t, k) t[#t + 1] = k end
local keys = {lock}
add(keys, 'foo')
redis.call('del', unpack(keys))
