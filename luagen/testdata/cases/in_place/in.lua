--- Counts, and says how.
---
---@key counter string
---@arg step int(1..9)
---@return int total
---@return string? how
---@include count.lua
may('set', counter)
local total, old = counted(counter, step)
if label(old) == 'new' then
  return {total, 'new'}
end
return {total, label(old)}
