---@library
---@include text.lua
local function double(s) return twice(s) end -- the end
