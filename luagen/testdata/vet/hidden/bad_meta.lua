---@key lock string
local t = setmetatable({}, {__index = redis})
t.call('get', 'foo' .. lock)
