---@key stamp string
---@arg most int(0..9007199254740991)
---@arg more int(0..9007199254740991)
---@arg delta int
---@arg at unixmilli
---@return string text
local time = redis.call('time')
redis.call('set', stamp, most * 1000)
redis.call('set', stamp, time[1] * 1000000000 + time[2] * 1000)
redis.call('set', stamp, at * 1000000)
redis.call('set', stamp, most + more)
redis.call('set', stamp, math.floor(most / 2) * 3)
redis.call('set', stamp, string.format('%d', delta))
redis.call('set', stamp, string.format('at %s, %5.1f%%', time[1] * 1000000 + time[2], 1))
redis.call('set', stamp, cjson.encode({most, tonumber(delta)}))
return 'done'
