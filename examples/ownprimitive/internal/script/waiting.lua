--- Returns how many members wait, whose leases have not ended.
---
---@key barrier hash
---@return int count
---@retry safe
local time = redis.call('time') ---@allow readonly miniredis has no TIME in read-only scripts
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local count = 0
local state = redis.call('hgetall', barrier)
for i = 1, #state, 2 do
  if state[i] ~= 'generation' and tonumber(state[i + 1]) > now then
    count = count + 1
  end
end
return count
