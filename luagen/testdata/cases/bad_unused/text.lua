---@library
local function twice(s) return s .. s end
