--- Reads numbers with a point, an exponent, or many digits.
---
---@library

-- number returns the number in text, or nil. The point is put in, because the embedded server's Lua
-- reads a text without one as a whole number of 64 bits.
local function number(text)
  if not string.find(text, '.', 1, true) then
    text = string.gsub(text, '^([+-]?%d+)', '%1.0')
  end
  return tonumber(text)
end
