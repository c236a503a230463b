---@key lock string
local c = redis['ca' .. 'll']
c('get', 'foo' .. lock)
