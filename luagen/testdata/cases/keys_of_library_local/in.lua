--- What an included function passes on is a local name, which no command of this script has.
---
---@key all hash...
---@include keys.lua
for i = 1, #all, 2 do
  local first, second = all[i], all[i + 1]
  both(first, second)
end
return 1
