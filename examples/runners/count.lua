--- Counts, up to a limit.
---
---@key counter string
---@arg by int(1..1000)      what is added
---@arg most int(1..1000000) the limit
---@return bool counted
---@return int(0..) total
---@return string? note    nothing, if nothing was there before
---@error FULL by is more than the limit
if tonumber(by) > tonumber(most) then
  return redis.error_reply('FULL by is more than the limit')
end
local before = redis.call('get', counter)
local total = tonumber(before) or 0
if total + by > tonumber(most) then
  return {0, total, before}
end
return {1, redis.call('incrby', counter, by), before}
