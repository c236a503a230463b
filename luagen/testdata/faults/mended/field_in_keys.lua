return redis.call('HGET', KEYS[1], ARGV[1])
