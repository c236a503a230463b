---@key lock hash
local x = = 1
