redis.call('SADD', KEYS[1], unpack(ARGV))
redis.call('PERSIST', KEYS[1])
return redis.call('SCARD', KEYS[1])
