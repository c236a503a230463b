---@library
-- Doubles.
local function twice(s)
  return s .. s .. [[
a 'line'
]]
end
