---@key stamp string
---@return int now
local call = redis.call
local time = call('time')
local seconds = time[1]
call('set', stamp, 1)
return seconds .. time[2]
