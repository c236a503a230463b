local now = tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - ARGV[2])
return redis.call('ZADD', KEYS[1], now, ARGV[3])
