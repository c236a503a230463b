--- Adds counters of which some may be missing.
---@key counters string...
---@return int total
---@return int?[] values
---@return milliseconds?[] waits
---@readonly
local values, total = redis.call('mget', unpack(counters)), 0
for _, value in ipairs(values) do
  total = total + (value or 0)
end
return {total, values, {false, 5, false}}
