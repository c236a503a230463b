---@key lock any
local x = = 1
