local now = tonumber(ARGV[1])
local tat = math.max(tonumber(redis.call('get', KEYS[1])) or now, now) + tonumber(ARGV[2])
redis.call('setex', KEYS[1], math.max(math.ceil((tat - now) / 1000000), 1), tostring(tat))
local time, filled = redis.call('time'), redis.call('hget', KEYS[2], 'filled')
local at = tonumber(filled, 10) or time[1] * 1e6 + time[2]
redis.call('hset', KEYS[2], 'filled', tostring(at), 'filled_at', at)
local orderId = tonumber(redis.call('lpop', KEYS[3]))
return {orderId, tat}
