return redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
