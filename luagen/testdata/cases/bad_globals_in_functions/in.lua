--- Writes a global from within a function, and declares a function globally.
---@key lock any
local function count()
  total = 1
  return total
end
function helper() return count() end
redis.call('del', lock)
return helper()
