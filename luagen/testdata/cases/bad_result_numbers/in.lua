---@key counter string
---@arg share float
---@return int n
---@return int state
---@return bool taken
---@return milliseconds wait
---@return float rate
if redis.call('exists', counter) == 0 then
  return {redis.call('get', counter) == '1', 'ok', redis.call('set', counter, 1, 'NX'), '1.5', 'n/a'}
end
local big = redis.call('strlen', counter)
return {share, 'n' .. big, redis.call('set', counter, 2), redis.call('incrbyfloat', counter, 0.1), big > 1}
