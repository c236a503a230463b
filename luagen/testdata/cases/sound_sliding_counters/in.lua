--- Approximates a sliding window by the counts of this interval and the last.
---@key current string
---@key last string
---@arg limit int(1..1000000)
---@arg weight float       the part of the last interval that still counts
---@arg interval seconds
---@return bool allowed
local before = tonumber(redis.call('GET', last) or '0')
local now = tonumber(redis.call('GET', current) or '0')
if before * weight + now >= tonumber(limit) then
  return false
end
now = redis.call('INCR', current)
if now == 1 then
  redis.call('EXPIRE', current, interval * 2)
end
return true
