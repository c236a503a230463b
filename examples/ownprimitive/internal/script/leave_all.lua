--- Makes each member leave its barrier. Each member has a status of its own.
---
---@key barriers hash...
---@arg members string... per barriers
---@return int[] status   per member: 1 it has left, 0 it did not wait there, -1 no barrier, -2 refused
---@include fault.lua
local status = {}
for i, barrier in ipairs(barriers) do
  local left = redis.pcall('hdel', barrier, members[i])
  if type(left) == 'table' then
    status[i] = fault(left)
  else
    status[i] = left
  end
end
return status
