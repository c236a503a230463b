return redis.call('hset', KEYS[1], unpack(ARGV))
