---@key lock string
_G.redis.call('get', 'foo' .. lock)
