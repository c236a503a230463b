--- Adds to numbers with a point.
---
---@library
---@include float.lua

-- plus adds delta to value, which counter holds, and returns the sum as a text, or nil if it is out of the range of a
-- double. The server adds with more digits than a double has: near the end of the range, the sum of two doubles may
-- be a text that is too large for a double.
local function plus(counter, value, delta)
  local sum = value + number(delta)
  if sum - sum ~= 0 then
    return nil
  elseif math.abs(sum) < 1e300 then
    return redis.call('incrbyfloat', counter, delta)
  end
  local text = string.format('%.17g', sum)
  redis.call('set', counter, text, 'keepttl')
  return text
end
