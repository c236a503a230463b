---@key lock string
local r = {call = redis.call}
r.call('get', 'foo' .. lock)
