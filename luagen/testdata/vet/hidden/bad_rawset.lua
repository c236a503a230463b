---@key lock string
local keys = {lock}
rawset(keys, 2, 'foo')
redis.call('del', unpack(keys))
