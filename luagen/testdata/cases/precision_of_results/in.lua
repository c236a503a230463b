--- Results that stay exact, and numbers that lose nothing as texts.
---@key stamp string
---@key queue list
---@arg most int(0..9007199254740991)
---@arg rank int(0..2097151)
---@arg few int(1..1000)
---@arg lease milliseconds
---@arg at unixmilli
---@return string text
local time = redis.call('time')
redis.call('set', stamp, most + 1000)
redis.call('set', stamp, most - few)
redis.call('set', stamp, few * few * few * 1000)
redis.call('set', stamp, rank * 4294967296)
redis.call('set', stamp, most * 0.5)
redis.call('set', stamp, most % few * 1000)
redis.call('set', stamp, math.min(most, 1000) * 1000)
redis.call('set', stamp, redis.call('llen', queue) * 1000000)
redis.call('set', stamp, lease * 1000)
redis.call('set', stamp, at * 1000 + lease * 1000)
redis.call('set', stamp, time[1] * 1000000 + time[2])
redis.call('set', stamp, string.format('%s-%06d, %d%%', time[1], time[2], few))
redis.call('set', stamp, string.format('%.0f', time[1] * 1000000 + time[2]))
local job = {at = string.format('%.0f', at * 1000), n = redis.call('llen', queue) * 1000}
job.ms = tonumber(at)
return cjson.encode(job)
