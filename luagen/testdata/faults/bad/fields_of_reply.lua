local n = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[1])
return {count = n, ttl = redis.call('TTL', KEYS[1])}
