---@library
local function helper() return 1 end
local function other() return helper() end
