--- Microseconds that are padded, or do not stand behind the seconds.
---@key stamp string
local time = redis.call('time')
redis.call('set', stamp, time[1] .. string.format('%06d', time[2]))
redis.call('set', stamp, time[1] .. ' s and ' .. time[2] .. ' us')
redis.call('set', stamp, time[2] .. time[1])
redis.call('set', stamp, time[1] .. ':' .. time[2])
redis.call('set', stamp, time[1] .. time[1])
local pair = {'1', '2'}
redis.call('set', stamp, pair[1] .. pair[2])
