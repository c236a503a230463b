local fields = unpack(ARGV)
redis.call('HSET', KEYS[1], fields)
return redis.call('HLEN', KEYS[1])
