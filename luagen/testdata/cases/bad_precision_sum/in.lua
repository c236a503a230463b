---@key counter string
---@key counts hash
---@arg delta int
---@return int value
---@return int held
---@return int left
local value = redis.call('incrby', counter, delta)
local held = redis.call('hincrby', counts, 'held', delta)
if held == 0 then
  return {held, 0, 0}
end
return {value, held, redis.call('decrby', counter, delta) + 1}
