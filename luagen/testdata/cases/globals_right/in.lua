--- Uses the globals that servers have, and locals that only look like globals.
---@key lock string
---@return int n
local total = 0
local function helper(total) return total + 1 end
total = helper(total)
for _, value in ipairs({1, 2}) do total = total + value end
redis.call('set', lock, math.max(total, string.len('x')))
return total
