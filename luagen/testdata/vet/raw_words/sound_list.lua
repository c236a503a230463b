redis.call('rpush', KEYS[1], unpack(ARGV, 2))
return redis.call('expire', KEYS[1], ARGV[#ARGV])
