
redis.call('HSET', KEYS[1], unpack(ARGV, 1, 20))
return redis.call('HLEN', KEYS[1])
