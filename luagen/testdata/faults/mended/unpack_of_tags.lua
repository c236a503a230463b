for i = 1, #ARGV do redis.call('SADD', KEYS[1], ARGV[i]) end
redis.call('PERSIST', KEYS[1])
return redis.call('SCARD', KEYS[1])
