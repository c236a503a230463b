--- Numbers, and texts of numbers, where numbers are declared.
---@key counter string
---@arg share float
---@return int n
---@return int? state
---@return bool taken
---@return milliseconds wait
---@return float rate
---@return string kind
if redis.call('exists', counter) == 0 then
  local taken = redis.call('set', counter, 1, 'NX') and 1 or 0
  return {redis.call('get', counter) == '1' and 1 or 0, false, taken, '15', '1.5', 'n/a'}
end
local big = redis.call('strlen', counter)
return {'1' .. big, big > 1, big > 1, math.floor(share * 2), redis.call('incrbyfloat', counter, share), 'n' .. big}
