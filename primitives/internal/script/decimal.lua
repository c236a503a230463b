--- Compares whole numbers as decimal texts: numbers in Lua are exact to 2^53 only.
---
---@library

-- less reports whether the whole number a is less than b.
local function less(a, b)
  local negative = string.sub(a, 1, 1) == '-'
  if negative ~= (string.sub(b, 1, 1) == '-') then
    return negative
  end
  if #a ~= #b then
    return (#a < #b) ~= negative
  end
  return a ~= b and (a < b) ~= negative
end

-- integer reports whether INCRBY accepts text: a whole number of 64 bits, without leading zeros and without a plus
-- sign.
local function integer(text)
  return (text == '0' or string.match(text, '^%-?[1-9]%d*$') ~= nil)
    and not less('9223372036854775807', text) and not less(text, '-9223372036854775808')
end
