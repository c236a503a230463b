--- Numbers that lose nothing.
---@key counter string
---@key counts hash
---@arg delta int
---@arg few int(1..1000)
---@arg lease milliseconds
---@arg at unixmilli
---@return int value
local n = tonumber(few) + 1
redis.call('incrby', counter, n * 2)
redis.call('hincrby', counts, 'steps', 1)
redis.call('incrby', counter, few)
redis.call('incrby', counter, delta)
redis.call('decr', counter)
local ends = at + lease
redis.call('hset', counts, 'ends', ends, 'text', '' .. ends, 'n', tostring(n))
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('hset', counts, 'now', now, 'text', 'at ' .. now)
redis.call('hset', counts, 'most', 99999999999999 .. '')
redis.call('hset', counts, 'us', string.format('%.0f', time[1] * 1000000 + time[2]))
return redis.call('get', counter)
