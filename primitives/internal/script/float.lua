--- Reads numbers with a point, an exponent, or many digits.
---
---@library

-- number returns the number in text, or nil. tonumber would also accept 'inf', '0x10', blanks, and numbers that are
-- too large for a double. number adds the point, because the embedded server's Lua reads a text without a point as a
-- whole number of 64 bits.
local function number(text)
  if not string.find(text, '^[+-]?[%d.]+[eE]?[+-]?%d*$') then
    return nil
  end
  if not string.find(text, '.', 1, true) then
    text = string.gsub(text, '^([+-]?%d+)', '%1.0')
  end
  local value = tonumber(text)
  return value and value - value == 0 and value or nil
end
