return redis.call('ZADD', KEYS[1], KEYS[2], ARGV[1])
