local ttl = redis.call('PTTL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')
return ttl
