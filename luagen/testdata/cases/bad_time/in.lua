---@key stamp string
local time = redis.call('time')
redis.call('set', stamp, time[1] .. time[2])
local t = redis.call('TIME')
local us = t[2]
redis.call('set', stamp, t[1] .. '.' .. us)
redis.call('set', stamp, 'at ' .. tostring(t[1]) .. us .. ' us')
