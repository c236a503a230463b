--- Counts, and says how.
---
---@key counter string
---@arg step int(1..9)
---@return int total
---@return string? how
---@include count.lua
may('set', counter)
local total, old = counted(counter, step)
local twofold
twofold = doubled(total)
if label(old) == 'new' then
  return {total, 'new'}
end
return {twofold, label(old)}
