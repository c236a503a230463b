local n = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 120)
return n
