local now = tonumber(ARGV[1]) -- microseconds
redis.call('ZADD', KEYS[1], now, now .. ':' .. ARGV[2])
redis.call('EXPIRE', KEYS[1], 60)
return redis.call('ZCARD', KEYS[1])
