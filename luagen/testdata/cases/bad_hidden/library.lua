---@library
local function first(t) return next(t) end
