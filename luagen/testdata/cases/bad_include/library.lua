---@library
---@arg n int
---@readonly
local function helper() return missing end
local constant = 1
return constant
