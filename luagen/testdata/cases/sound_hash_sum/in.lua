--- Sums the fields of a hash by HGETALL.
---@key counts hash
---@return int(0..9007199254740991) total
---@readonly
local all = redis.call('hgetall', counts)
local total = 0
for i = 1, #all, 2 do
  total = total + tonumber(all[i + 1])
end
return total
