---@key stamp string
---@arg delta int
---@return string at
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
redis.call('set', stamp, 'at ' .. now)
redis.call('set', stamp, tostring(now))
redis.call('set', stamp, 922337203685477 .. '')
redis.call('set', stamp, 100000000000000 .. '')
redis.call('set', stamp, tostring(redis.call('incrby', stamp, delta)))
return now .. ':' .. (time[1] * 1000)
