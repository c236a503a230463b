redis.call('HSET', KEYS[2], ARGV[1], redis.call('HGET', KEYS[1], ARGV[1]) or '')
return redis.call('HLEN', KEYS[2])
