---@key lock string
local keys = {lock}
local other = keys
other[2] = 'foo'
redis.call('del', unpack(keys))
