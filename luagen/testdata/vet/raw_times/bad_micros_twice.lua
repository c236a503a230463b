local time = redis.call('TIME')
local now = time[2] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], 0, now - ARGV[1])
