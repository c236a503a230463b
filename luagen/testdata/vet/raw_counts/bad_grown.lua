local now = tonumber(ARGV[1])
redis.call('ZADD', KEYS[1], now, ARGV[2])
redis.call('EXPIRE', KEYS[1], 600)
return redis.call('ZCOUNT', KEYS[1], now - 60, now)
