---@key lock string
local insert = table.insert
local keys = {lock}
insert(keys, 'foo')
redis.call('del', unpack(keys))
