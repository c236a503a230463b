--- Makes a function where it is needed first.
---
---@key counter string
---@arg kind string
---@return string text
---@include queue.lua
if kind == 'usual' then -- It makes no function but those that are needed at the top.
  return redis.call('get', counter) or 'none'
end
if kind == 'body' then -- It needs the functions that the body of pace calls.
  local list = pace({9})
  return string.format('%.0f', list[1])
end
if kind == 'early' then
  return 'early'
elseif pass(kind, 'a') == 'a!' then
  return pass(kind, 'a')
end
if kind == 'loop' then
  local n = 0
  for i = 1, 3 do
    n = n + #pace({i, n})
  end
  return string.format('%.0f', step(n))
end
local type = 'own'
return (mine(kind)) .. type
