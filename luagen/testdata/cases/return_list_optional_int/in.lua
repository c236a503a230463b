---@key counters string...
---@return int total
---@return int(0..9)?[] values
---@return milliseconds?[] waits
---@readonly
local values, total = redis.call('mget', unpack(counters)), 0
for _, value in ipairs(values) do
  total = total + (value or 0)
end
return {total, values, {false, 5}}
