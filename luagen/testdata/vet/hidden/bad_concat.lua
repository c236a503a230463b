---@key lock string
redis['ca' .. 'll']('get', 'foo' .. lock)
