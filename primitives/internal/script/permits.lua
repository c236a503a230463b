--- Reads a count of permits. Redisson's are Java ints.
---
---@library

-- count returns the whole number in text, or nil if the text is no number that a Java int can hold.
local function count(text)
  local n = tonumber(text)
  if n and n >= -2147483648 and n <= 2147483647 and n == math.floor(n) then
    return n
  end
  return nil
end
