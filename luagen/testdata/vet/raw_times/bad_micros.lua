local time = redis.call('TIME')
local now = tonumber(time[2])
redis.call('zremrangebyscore', KEYS[1], 0, now - ARGV[1])
