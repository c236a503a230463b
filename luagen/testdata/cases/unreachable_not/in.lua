--- Loops that end by break, branches of which one goes on, and a return within a function.
---@key lock string
---@return int n
---@readonly
local function first() return 1 end
local n = redis.call('strlen', lock)
while true do
  n = n - 1
  if n < 0 then break end
end
repeat n = n + 1 until n > 0
if n > 5 then return 5 elseif n > 4 then n = first() end
return n
