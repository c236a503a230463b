---@key lock hash
---@key other hash
---@arg which bool
---@include keys.lua
local chosen = lock
if which then
  chosen = other
end
return drop(chosen)
