--- Gives each member of a barrier a whole lease again, unless it has ended. Each member has a status of
--- its own: a key of another kind costs only itself.
---
---@key barriers hash...
---@arg lease int(1..1000000000000)   in milliseconds
---@arg members string... per barriers
---@return int[] status   per member: 1 renewed, 0 it does not wait there, -1 no barrier, -2 refused
---@retry safe
---@include fault.lua
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local status = {}
for i, barrier in ipairs(barriers) do
  local ends = redis.pcall('hget', barrier, members[i])
  if type(ends) == 'table' then
    status[i] = fault(ends)
  elseif ends and tonumber(ends) > now then
    redis.call('hset', barrier, members[i], now + lease)
    status[i] = redis.call('pexpire', barrier, lease + 3600000)
  else
    status[i] = 0
  end
end
return status
